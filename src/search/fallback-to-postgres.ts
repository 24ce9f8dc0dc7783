// Searches in an engine, or in PostgreSQL if the engines fail or take more than 300 ms.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { Problem } from '../http/problem-details.ts'
import {
  type EngineAnswer,
  type EngineObserver,
  searchEngines,
} from '../search-engine/engine-failover.ts'
import type { EngineCandidate } from '../search-engine/engine-selection.ts'
import { timeouts } from '../timeouts.ts'
import type { SearchRequest, SearchResult } from './schema.ts'
import { searchInEngine } from './search-in-engine.ts'
import { searchInPostgres } from './search-in-postgres.ts'

export const searchUnavailable = 'Search is not available at the moment. Try again in a moment.'

export type SearchOutcome =
  | ({ source: 'index' } & EngineAnswer<SearchResult>)
  | { source: 'database'; result: SearchResult }
  /** The client has disconnected: nobody reads an answer. */
  | { source: 'cancelled' }

type Options = {
  db: Kysely<Tables>
  /** In the order in which they are asked. */
  engines: EngineCandidate[]
  indexName: string
  request: SearchRequest
  /** Aborts when the client disconnects. */
  disconnected: AbortSignal
  observer: EngineObserver
}

/**
 * Searches in an engine, in the next one if it fails, and then in PostgreSQL. Throws an
 * `unavailable` problem if PostgreSQL fails too.
 */
export async function searchWithFallback(options: Options): Promise<SearchOutcome> {
  const { db, engines, indexName, request, disconnected, observer } = options
  const answer = await searchEngines({
    engines,
    search: (engine, signal) => searchInEngine(engine, indexName, request, signal),
    disconnected,
    observer,
  })
  if (answer) return { source: 'index', ...answer }
  if (disconnected.aborted) return { source: 'cancelled' }
  return { source: 'database', result: await searchFallback(db, request) }
}

async function searchFallback(db: Kysely<Tables>, request: SearchRequest): Promise<SearchResult> {
  try {
    return await searchInPostgres(db, request)
  } catch (cause) {
    const retryAfterSeconds = timeouts.search.retryAfter.ms / 1_000
    throw new Problem('unavailable', searchUnavailable, {
      headers: { 'retry-after': String(retryAfterSeconds) },
      cause,
    })
  }
}
