// Writes a count in messages, alone or with its noun: "2,000", "1 product", "2,000 products".

/** Returns the count with commas between thousands. */
export function formatCount(count: number): string {
  return count.toLocaleString('en')
}

/** Returns the count with the noun in the right number. Most plurals end in s. */
export function countNoun(count: number, one: string, other = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : other}`
}
