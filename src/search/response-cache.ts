// Caches the JSON of search results while the index is unchanged. People often type the same
// beginnings of words. `meta` is not cached, because it changes whenever the state of the index is
// read again.
import { LRUCache } from 'lru-cache'
import type { SearchMeta, SearchRequest, SearchResult } from './schema.ts'

/** A string takes at most two bytes per character. */
const bytesPerCharacter = 2
/** An estimate of the memory of an entry besides its texts. */
const entryOverheadBytes = 200

/** The response without the part of `meta` that changes. */
export type SerializedResult = {
  json: string
  /** What the search itself says in `meta`. */
  meta: Pick<SearchMeta, 'corrected' | 'ignored' | 'facetsOmitted'>
  /** Whether this page or another one has hits. */
  hasHits: boolean
}

/** What a result depends on, besides the URL of the request. */
export type CachedFor = {
  registrationName: string
  /** Of the index of this engine. Null: nothing is cached. */
  version: string | null
  /** Of the synonyms and pins. */
  wordsVersion: string | null
}

/** Has results by URL. Those for earlier versions are evicted, as they are no longer used. */
export class ResponseCache {
  readonly #results: LRUCache<string, SerializedResult> | null

  /** Caches nothing if `maxBytes` is 0. */
  constructor(maxBytes: number) {
    const sizeCalculation = ({ json }: SerializedResult, key: string) =>
      bytesPerCharacter * (json.length + key.length) + entryOverheadBytes
    this.#results = maxBytes === 0 ? null : new LRUCache({ maxSize: maxBytes, sizeCalculation })
  }

  get(cachedFor: CachedFor, url: string): SerializedResult | undefined {
    return cachedFor.version === null ? undefined : this.#results?.get(toKey(cachedFor, url))
  }

  set(cachedFor: CachedFor, url: string, result: SerializedResult): void {
    if (cachedFor.version !== null) this.#results?.set(toKey(cachedFor, url), result)
  }
}

const toKey = ({ registrationName, version, wordsVersion }: CachedFor, url: string) =>
  JSON.stringify([registrationName, version, wordsVersion, url])

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
