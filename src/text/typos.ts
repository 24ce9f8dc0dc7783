// Counts the typos between two words.

/** A word of this many letters may have one typo, or two. The engine has the same bounds. */
export const oneTypoLetters = 4
export const twoTyposLetters = 8

/** Returns how many typos a word may have. Codes (tokens.ts) are no words. */
export function maxTyposIn(word: string): number {
  if (word.length < oneTypoLetters) return 0
  return word.length >= twoTyposLetters ? 2 : 1
}

/**
 * Returns the number of letters that were replaced, added, lost or swapped with the next one
 * (optimal string alignment). If there are more than `max`, returns any number above `max`. Letters
 * are UTF-16 code units here, because hardly any letter has two.
 */
export function countTypos(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return max + 1
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    let lowest = row
    for (let column = 1; column <= b.length; column++) {
      const isEqual = a[row - 1] === b[column - 1]
      let cost = Math.min(
        (previous[column] ?? max) + 1,
        (current[column - 1] ?? max) + 1,
        (previous[column - 1] ?? max) + (isEqual ? 0 : 1),
      )
      const isSwap =
        row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (isSwap) cost = Math.min(cost, (beforePrevious[column - 2] ?? max) + 1)
      current.push(cost)
      lowest = Math.min(lowest, cost)
    }
    if (lowest > max) return max + 1
    beforePrevious = previous
    previous = current
  }
  return previous[b.length] ?? max + 1
}
