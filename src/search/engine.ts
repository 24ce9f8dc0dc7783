// What search needs of Meilisearch: several queries in one request. The client is made in connections.ts.
import type { ProductDocument } from './product-index.ts'

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
  _rankingScoreDetails?: { words?: { matchingWords: number; maxMatchingWords: number }; typo?: { typoCount: number } }
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
