// The Meilisearch client with which the API searches. It sends several queries in one request.
import type { ProductDocument, shownAttributes } from './document-fields.ts'
import { EngineConnections } from './engine-connections.ts'
import { EngineError } from './request-outcome.ts'

const noResults = 'the search engine returned no results'

// A health check must answer before its caller gives up.
const healthMs = 1_000
// A keystroke feels instant up to about a third of a second.
export const engineTimeout = { ms: 300 }

// How many hits and facet values a search returns and counts, also in PostgreSQL.

/** The number of hits without ?limit=, and the largest ?limit=. */
export const defaultHits = 8
export const maxHits = 50
/** The largest ?offset=. */
export const maxOffset = 1000
/** A search counts at most this many hits. */
export const maxTotal = 1000
/**
 * More hits are listed than counted, because a page at the largest offset has up to 50 more. 50 of
 * these 100 are in reserve: this is a setting of the index, and changing it rebuilds the index.
 */
export const maxListed = maxTotal + 100
/** At most this many values of a facet are counted. */
export const maxFacetValues = 100

export type EngineQuery = {
  indexUid: string
  q: string
  limit?: number
  filter?: string[]
  sort?: string[]
  facets?: string[]
  matchingStrategy?: 'frequency' | 'all'
  attributesToRetrieve: readonly (keyof ProductDocument)[]
  showRankingScoreDetails?: boolean
}

/** `shownAttributes` of a product, and what the engine says about the match. */
export type EngineHit = Pick<ProductDocument, (typeof shownAttributes)[number]> & {
  _rankingScoreDetails?: {
    words?: { matchingWords: number; maxMatchingWords: number }
    typo?: { typoCount: number }
  }
}

export type EngineResult = {
  hits: EngineHit[]
  /** Exact up to `maxListed`, despite its name (test/search/later-pages.test.ts). */
  estimatedTotalHits: number
  facetDistribution?: Record<string, Record<string, number>>
}

export type SearchEngine = {
  /**
   * Sends all queries in one request and returns one result for each, in their order. Throws an
   * `EngineError`, a connection error, the reason of `signal` when it aborts, or another error if
   * the answer has no results.
   */
  search(queries: EngineQuery[], signal: AbortSignal): Promise<EngineResult[]>
  /** Throws if the engine does not report that it is healthy. */
  health(): Promise<unknown>
  close(): Promise<void>
}

/** Opens a client on keep-alive connections. Close it with `close()`. */
export function openSearchEngine(url: string, apiKey: string): SearchEngine {
  const base = new URL(url)
  const connections = new EngineConnections(base, { authorization: `Bearer ${apiKey}` })
  const prefix = base.pathname.replace(/\/$/, '')

  async function send(
    method: 'GET' | 'POST',
    path: string,
    body: string | null,
    signal: AbortSignal,
  ): Promise<string> {
    const response = await connections.send(method, prefix + path, body, signal)
    if (response.status !== 200) throw new EngineError(response.status, response.body)
    return response.body
  }

  return {
    async search(queries, signal) {
      const body = await send('POST', '/multi-search', JSON.stringify({ queries }), signal)
      const { results } = JSON.parse(body) as { results?: EngineResult[] }
      // For example, a proxy in front of the engine answered.
      if (results?.length !== queries.length) throw new Error(noResults)
      return results
    },
    health: () => send('GET', '/health', null, AbortSignal.timeout(healthMs)),
    close: () => connections.close(),
  }
}
