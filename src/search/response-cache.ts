// Caches the JSON of search results while the index is unchanged. People often type the same
// beginnings of words. `meta` is not cached, because it changes whenever the state of the index is
// read again.
import { LRUCache } from 'lru-cache'
import { type FacetName, facetNames } from '../products/fields.ts'
import type { SearchMeta, SearchRequest, SearchResult } from './schema.ts'

/** A string takes at most two bytes per character. */
const bytesPerCharacter = 2
/** An estimate of the memory of an entry besides its texts. */
const entryOverheadBytes = 200
/** Of the URLs whose responses need no capacity, with their keys. */
const maxUrlCharacters = 500_000

/** The response without the part of `meta` that changes. */
export type SerializedResult = {
  json: string
  /** What the search itself says in `meta`. */
  meta: Pick<SearchMeta, 'corrected' | 'ignored' | 'facetsOmitted'>
  /** Whether this page or another one has hits. */
  hasHits: boolean
}

type EngineResults = { version: string; results: LRUCache<string, SerializedResult> }

/**
 * Caches the results of each engine, for one version of its index. Each engine may use the same
 * share of the bytes. The least recently used results are evicted first.
 */
export class ResponseCache {
  readonly #maxBytesPerEngine: number
  readonly #byEngine = new Map<string, EngineResults>()
  /** Load shedding has only the URL, and must be fast. */
  readonly #keysByUrl = new LRUCache<string, string>({
    maxSize: maxUrlCharacters,
    sizeCalculation: (key, url) => url.length + key.length,
  })

  /** Caches nothing if `maxBytes` is 0. */
  constructor(maxBytes: number, engineCount: number) {
    this.#maxBytesPerEngine = Math.floor(maxBytes / engineCount)
  }

  /** Returns the result that was cached for this version of the engine's index. */
  get(registrationName: string, version: string | null, key: string): SerializedResult | undefined {
    const cached = this.#byEngine.get(registrationName)
    return cached?.version === version ? cached.results.get(key) : undefined
  }

  /** Caches a result for a version of the engine's index, and discards those for another one. */
  set(
    registrationName: string,
    version: string | null,
    key: string,
    result: SerializedResult,
  ): void {
    if (version === null || this.#maxBytesPerEngine === 0) return
    let cached = this.#byEngine.get(registrationName)
    if (cached?.version !== version) {
      const results = new LRUCache<string, SerializedResult>({
        maxSize: this.#maxBytesPerEngine,
        sizeCalculation: ({ json }, own) =>
          bytesPerCharacter * (json.length + own.length) + entryOverheadBytes,
      })
      cached = { version, results }
      this.#byEngine.set(registrationName, cached)
    }
    cached.results.set(key, result)
  }

  rememberKey(url: string, key: string): void {
    this.#keysByUrl.set(url, key)
  }

  /** Returns the key of the last cached response that was sent for this URL. */
  findKey(url: string): string | undefined {
    return this.#keysByUrl.get(url)
  }
}

/** A property that `SearchRequest` gets must be added to the key, or the compiler objects. */
type KeyParts = Omit<SearchRequest, FacetName>

/**
 * Returns the key of a request in the cache. Equal requests have the same key, whatever the order
 * of their properties. Synonyms and pins change the result, so the key begins with their version.
 */
export function toCacheKey(request: SearchRequest, wordsVersion: string | null): string {
  const { text, limit, offset, facets } = request
  const parts: KeyParts = { text, limit, offset, facets }
  const filters = facetNames.map((name) => request[name] ?? null)
  return wordsVersion + JSON.stringify([parts, filters])
}

/** `facets` is left out if the request asked for none. */
export function serializeResult(
  { text, facets: requestedFacets }: SearchRequest,
  { hits, total, facets, facetsOmitted, corrected, ignored }: SearchResult,
): SerializedResult {
  const response = { query: text, hits, total, ...(requestedFacets.length > 0 && { facets }) }
  const meta = {
    ...(corrected.length > 0 && { corrected }),
    ...(ignored !== null && { ignored }),
    ...(facetsOmitted && { facetsOmitted }),
  }
  return { json: JSON.stringify(response), meta, hasHits: total > 0 }
}

/**
 * Returns the JSON of a response: the cached one with `meta` added as its last member. Serialising
 * the result again takes about six times as long.
 */
export function addMeta({ json, meta: own }: SerializedResult, meta: SearchMeta): string {
  return `${json.slice(0, -1)},"meta":${JSON.stringify({ ...meta, ...own })}}`
}
