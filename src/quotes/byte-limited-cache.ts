// A least-recently-used cache of rendered quotes with a limit in bytes.
import { LRUCache } from 'lru-cache'

export type ByteLimitedCache<Rendering extends object> = LRUCache<string, Rendering>

/**
 * Returns a cache of at most `maxBytes`. An entry larger than a quarter of that is not cached,
 * because it would evict too many others. With `maxBytes` 0 nothing is cached.
 */
export function createByteLimitedCache<Rendering extends object>(
  maxBytes: number,
  getBytes: (rendering: Rendering) => number,
): ByteLimitedCache<Rendering> {
  return new LRUCache({
    // lru-cache requires sizes of at least 1.
    maxSize: Math.max(1, maxBytes),
    maxEntrySize: Math.max(1, Math.floor(maxBytes / 4)),
    sizeCalculation: (rendering) => Math.max(1, getBytes(rendering)),
  })
}
