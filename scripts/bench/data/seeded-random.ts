// Random numbers that repeat for the same seed, so that every machine measures the same data.

export type Random = {
  /** In [0, 1). */
  next(): number
  /** An integer in [0, limit). */
  below(limit: number): number
  pick<Item>(items: readonly Item[]): Item
}

/** Numbers in [0, 1) by Mulberry32 (Tommy Ettinger, public domain). Not suitable for secrets. */
export function mulberry32(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Mulberry32 with a text as seed, hashed by FNV-1a. */
export function seeded(seed: string): Random {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(seed)) hash = Math.imul(hash ^ byte, 0x01000193)
  const next = mulberry32(hash)
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    next,
    below,
    pick(items) {
      const item = items[below(items.length)]
      if (item === undefined) throw new Error('The list to pick from is empty.')
      return item
    },
  }
}

/** Shuffles in place (Fisher-Yates). */
export function shuffle<Item>(items: Item[], random: Random): Item[] {
  for (let last = items.length - 1; last > 0; last--) {
    const other = random.below(last + 1)
    const swapped = items[last] as Item
    items[last] = items[other] as Item
    items[other] = swapped
  }
  return items
}
