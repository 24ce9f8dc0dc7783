// What people type, key by key: names typed from their first letter, popular products more often.
import type { Product } from './catalogues.ts'
import { seeded, shuffle } from './seeded-random.ts'

/** `count` keystrokes for products drawn by Zipf's law (s = 1): names from their first letter until somebody sees what they want, after 4 to 16 keys. */
export function keystrokes(products: Product[], count: number, seed = 'trace'): string[] {
  const random = seeded(seed)
  const byRank = shuffle([...products], random)
  const cumulated: number[] = []
  for (const rank of byRank.keys()) cumulated.push((cumulated.at(-1) ?? 0) + 1 / (rank + 1))
  const typed: string[] = []
  while (typed.length < count) {
    const wanted = random.next() * (cumulated.at(-1) ?? 0)
    let [low, high] = [0, cumulated.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((cumulated[middle] ?? 0) < wanted) low = middle + 1
      else high = middle
    }
    const name = byRank[low]?.name.toLowerCase() ?? ''
    const keys = 4 + random.below(13)
    for (let length = 1; length <= Math.min(keys, name.length); length++)
      if (name[length - 1] !== ' ') typed.push(name.slice(0, length))
  }
  return typed.slice(0, count)
}
