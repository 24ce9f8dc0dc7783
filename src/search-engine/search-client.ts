// The Meilisearch client with which the API searches. It sends several queries in one request.
import type { ProductDocument, shownAttributes } from './document-fields.ts'
import { EngineConnections } from './engine-connections.ts'
import { EngineError, EngineFailure } from './request-outcome.ts'

// A health check must answer before its caller gives up.
const healthMs = 1_000
// A keystroke feels instant up to about a third of a second.
export const engineTimeout = { ms: 300 }

export type EngineQuery = {
  indexUid: string
  q: string
  limit: number
  offset?: number
  filter?: string[]
  sort?: string[]
  facets?: string[]
  matchingStrategy?: 'frequency' | 'all'
  attributesToSearchOn?: (keyof ProductDocument)[]
  attributesToRetrieve: readonly (keyof ProductDocument)[]
  showMatchesPosition?: boolean
  showRankingScoreDetails?: boolean
}

/** `shownAttributes` of a product, and what the engine says about the match. */
export type EngineHit = Pick<ProductDocument, (typeof shownAttributes)[number]> & {
  /** Positions and lengths in bytes of UTF-8. */
  _matchesPosition?: Partial<Record<string, { start: number; length: number }[]>>
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

/**
 * Sends all queries in one request. Returns a function that returns the result of one of them.
 * Throws an `EngineFailure` with the error of `SearchEngine.search`; the function throws one if the
 * engine has not answered its query.
 */
export async function requestResults(
  engine: SearchEngine,
  queries: EngineQuery[],
  signal: AbortSignal,
): Promise<(query: EngineQuery) => EngineResult> {
  const results = await engine.search(queries, signal).catch((error: unknown) => {
    throw new EngineFailure(error)
  })
  const resultByQuery = new Map(queries.map((query, index) => [query, results[index]]))
  return (query) => {
    const result = resultByQuery.get(query)
    if (result) return result
    throw new EngineFailure(
      new Error(
        `the search engine returned ${results.length} results for ${queries.length} queries`,
      ),
    )
  }
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
      if (!Array.isArray(results)) throw new Error('the search engine returned no results')
      return results
    },
    health: () => send('GET', '/health', null, AbortSignal.timeout(healthMs)),
    close: () => connections.close(),
  }
}
