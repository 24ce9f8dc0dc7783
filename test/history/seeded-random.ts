// Random draws that repeat for the same seed, so that a failing history can be played again.
import { mulberry32 } from '../../scripts/bench/data/seeded-random.ts'

export type Random = {
  /** In [0, 1). */
  fraction(): number
  /** An integer between both bounds, both included. */
  between(least: number, most: number): number
  pick<Item>(items: readonly [Item, ...Item[]]): Item
  chance(probability: number): boolean
}

export function seededRandom(seed: number): Random {
  const fraction = mulberry32(seed)
  const between = (least: number, most: number) =>
    least + Math.floor(fraction() * (most - least + 1))
  return {
    fraction,
    between,
    pick: (items) => items[between(0, items.length - 1)] ?? items[0],
    chance: (probability) => fraction() < probability,
  }
}
