// The Meilisearch client with which the API searches. It sends several queries in one request.
import { timeouts } from '../timeouts.ts'
import type { ProductDocument } from './document-fields.ts'
import { HttpPool } from './http-connection-pool.ts'

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

export type EngineHit = ProductDocument & {
  /** Positions and lengths in bytes of UTF-8. */
  _matchesPosition?: Partial<Record<string, { start: number; length: number }[]>>
  _rankingScoreDetails?: {
    words?: { matchingWords: number; maxMatchingWords: number }
    typo?: { typoCount: number }
  }
}

export type EngineResult = {
  hits: EngineHit[]
  estimatedTotalHits: number
  facetDistribution?: Record<string, Record<string, number>>
}

/** Meilisearch answered with a status other than 200. */
export class EngineError extends Error {
  readonly status: number

  constructor(status: number, body: string) {
    super(`Meilisearch answered ${status}: ${body.slice(0, 500)}`)
    this.status = status
  }

  /** Whether the engine rejected this request but can answer others. */
  get isInvalidRequest(): boolean {
    return this.status === 400 || this.status === 413 || this.status === 414
  }
}

export type SearchEngine = {
  /**
   * Sends all queries in one request and returns one result for each, in their order. Throws an
   * `EngineError`, a connection error, or the reason of `signal` when it aborts.
   */
  search(queries: EngineQuery[], signal: AbortSignal): Promise<EngineResult[]>
  /** Throws if the engine does not report that it is healthy. */
  health(): Promise<unknown>
  close(): void
}

/** Opens a client on keep-alive connections. Close it with `close()`. */
export function openSearchEngine(url: string, apiKey: string): SearchEngine {
  const base = new URL(url)
  const pool = new HttpPool(base, { authorization: `Bearer ${apiKey}` })
  const prefix = base.pathname.replace(/\/$/, '')

  async function send(
    method: string,
    path: string,
    body: string,
    signal: AbortSignal,
  ): Promise<string> {
    const response = await pool.send(method, prefix + path, body, signal)
    if (response.status !== 200) throw new EngineError(response.status, response.body)
    return response.body
  }

  return {
    async search(queries, signal) {
      const body = await send('POST', '/multi-search', JSON.stringify({ queries }), signal)
      return (JSON.parse(body) as { results: EngineResult[] }).results
    },
    health: () => send('GET', '/health', '', AbortSignal.timeout(timeouts.searchEngine.health.ms)),
    close: () => pool.close(),
  }
}
