// Writes a count with its noun in messages: "1 product", "2,000 products".

/** Returns the count with the noun in the right number. Most plurals end in s. */
export function countNoun(count: number, one: string, other = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : other}`
}
