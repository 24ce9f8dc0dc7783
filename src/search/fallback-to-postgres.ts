// Searches in the engine, or in PostgreSQL if the engine fails or takes more than 300 ms.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { Problem } from '../http/problem-details.ts'
import type { EngineCandidate } from '../search-engine/engine-selection.ts'
import { EngineError } from '../search-engine/search-client.ts'
import { timeouts } from '../timeouts.ts'
import type { SearchAnswer, SearchRequest, SearchResult } from './schema.ts'
import { searchInEngine } from './search-in-engine.ts'
import { searchInPostgres } from './search-in-postgres.ts'

export const searchUnavailable = 'Search is not available at the moment. Try again in a moment.'

export type SearchOutcome = { result: SearchResult; source: SearchAnswer['meta']['source'] }

/** The outcome after the client has disconnected: nobody reads it. */
const unreadOutcome: SearchOutcome = {
  result: { hits: [], total: 0, facets: {} },
  source: 'database',
}

type Options = {
  db: Kysely<Tables>
  engine: EngineCandidate
  indexName: string
  request: SearchRequest
  /** Aborts when the client disconnects. */
  disconnected: AbortSignal
}

/**
 * Searches once in the engine, for 300 ms at most. If that fails, searches in PostgreSQL and lets
 * the circuit breaker open, unless the client has disconnected or the engine rejected the request
 * as invalid. Throws an `unavailable` problem if PostgreSQL fails too.
 */
export async function searchWithFallback(options: Options): Promise<SearchOutcome> {
  const { db, request, disconnected } = options
  try {
    return { result: await searchEngine(options), source: 'index' }
  } catch {
    // The circuit breaker reports the error when it opens.
    if (disconnected.aborted) return unreadOutcome
    return { result: await searchFallback(db, request), source: 'database' }
  }
}

async function searchEngine(options: Options): Promise<SearchResult> {
  const { engine, indexName, request, disconnected } = options
  // One controller for both reasons to stop: the timeout and the disconnected client.
  const stop = new AbortController()
  const abort = () => stop.abort()
  const timer = setTimeout(() => stop.abort(timeoutError()), timeouts.search.engine.ms)
  if (disconnected.aborted) abort()
  else disconnected.addEventListener('abort', abort, { once: true })
  try {
    return await engine.breaker.run(
      () => searchInEngine(engine.engine, indexName, request, stop.signal),
      (error) => disconnected.aborted || (error instanceof EngineError && error.isInvalidRequest),
    )
  } finally {
    clearTimeout(timer)
  }
}

function timeoutError(): Error {
  return new Error(`the search engine took more than ${timeouts.search.engine.ms} ms`)
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
