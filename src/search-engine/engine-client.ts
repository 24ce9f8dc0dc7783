// What search needs of Meilisearch: several queries in one request. The client is made in connections.ts.
import { httpPool } from './http-connection-pool.ts'

import type { ProductDocument } from './product-document.ts'

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
  /** In bytes of UTF-8. */
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

/** The engine answered, but not with results. */
export class EngineError extends Error {
  readonly status: number

  constructor(status: number, body: string) {
    super(`Meilisearch answered ${status}: ${body.slice(0, 500)}`)
    this.status = status
  }

  /** Whether the request was at fault, and the engine is well: no reason to spare it other requests. */
  get isOurs(): boolean {
    return this.status === 400 || this.status === 413 || this.status === 414
  }
}

export type SearchEngine = {
  /** Asks all queries in one request; one result each, in their order. Throws when the engine does not answer, or `signal` ends the wait. */
  search(queries: EngineQuery[], signal: AbortSignal): Promise<EngineResult[]>
  /** Throws unless the engine says that it is well. */
  health(): Promise<unknown>
  close(): void
}

/** The client that searches, on connections that are kept alive. Close with `engine.close()`. */
export function openSearchEngine(url: string, apiKey: string): SearchEngine {
  const base = new URL(url)
  const pool = httpPool(base, { authorization: `Bearer ${apiKey}` })
  const prefix = base.pathname.replace(/\/$/, '')

  async function ask(
    method: string,
    path: string,
    body: string,
    signal: AbortSignal,
  ): Promise<string> {
    const reply = await pool.send(method, prefix + path, body, signal)
    if (reply.status !== 200) throw new EngineError(reply.status, reply.body)
    return reply.body
  }

  return {
    async search(queries, signal) {
      const answer = JSON.parse(
        await ask('POST', '/multi-search', JSON.stringify({ queries }), signal),
      ) as { results: EngineResult[] }
      return answer.results
    },
    health: () => ask('GET', '/health', '', AbortSignal.timeout(1_000)),
    close: () => pool.close(),
  }
}
