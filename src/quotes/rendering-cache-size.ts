// The sizes in bytes of the caches of rendered quotes, which evict the least recently used one.
import { LRUCache } from 'lru-cache'

/** The maximum size of the cache of pages and JSON. */
export const pageAndJsonCacheBytes = 16e6
/** The maximum size of the cache of PDFs. */
export const pdfCacheBytes = 32e6

export type RenderingCache<Rendering extends object> = LRUCache<string, Rendering>

/**
 * Returns a cache of at most `maxBytes`. An entry larger than a quarter of that is not cached,
 * because it would evict too many others. With `maxBytes` 0 nothing is cached.
 */
export function createRenderingCache<Rendering extends object>(
  maxBytes: number,
  getBytes: (rendering: Rendering) => number,
): RenderingCache<Rendering> {
  return new LRUCache({
    // lru-cache requires sizes of at least 1.
    maxSize: Math.max(1, maxBytes),
    maxEntrySize: Math.max(1, Math.floor(maxBytes / 4)),
    sizeCalculation: (rendering) => Math.max(1, getBytes(rendering)),
  })
}
