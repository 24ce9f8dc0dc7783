// Generates a trace of keystrokes: product names typed letter by letter, popular products more
// often.
import type { Product } from '../data/catalogues.ts'
import { seeded, shuffle } from '../data/seeded-random.ts'

/**
 * Returns `count` prefixes of names of products drawn by Zipf's law (s = 1). Each name is typed
 * until the user sees the product, after 4 to 16 keys.
 */
export function keystrokes(products: Product[], count: number, seed = 'trace'): string[] {
  const random = seeded(seed)
  const byRank = shuffle([...products], random)
  const cumulative: number[] = []
  for (const rank of byRank.keys()) cumulative.push((cumulative.at(-1) ?? 0) + 1 / (rank + 1))
  const typed: string[] = []
  while (typed.length < count) {
    const target = random.next() * (cumulative.at(-1) ?? 0)
    let [low, high] = [0, cumulative.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((cumulative[middle] ?? 0) < target) low = middle + 1
      else high = middle
    }
    const name = byRank[low]?.name.toLowerCase() ?? ''
    const keys = 4 + random.below(13)
    for (let length = 1; length <= Math.min(keys, name.length); length++)
      if (name[length - 1] !== ' ') typed.push(name.slice(0, length))
  }
  return typed.slice(0, count)
}
