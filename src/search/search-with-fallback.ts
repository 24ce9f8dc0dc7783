// Searches in an engine, or in PostgreSQL if the engines fail or take more than 300 ms.
import { Problem } from '../http/problem-details.ts'
import type { ConcurrencyLimit } from '../overload/concurrency-limit.ts'
import {
  type EngineAnswer,
  type EngineObserver,
  searchEngines,
} from '../search-engine/engine-failover.ts'
import type { EngineCandidate } from '../search-engine/engine-selection.ts'
import type { RequestOutcome } from '../search-engine/request-outcome.ts'
import { parseQuery } from '../text/parse-query.ts'
import { timeouts } from '../timeouts.ts'
import type { SearchWords } from '../words/search-words.ts'
import {
  type DatabaseResult,
  type SearchDatabase,
  searchInPostgres,
} from './fallback/search-in-postgres.ts'
import type { RelaxationQueue } from './query/relaxation-queue.ts'
import type { WordMatches } from './query/word-matches.ts'
import type { ParsedRequest, SearchRequest, SearchResult } from './schema.ts'
import { searchInEngine } from './search-in-engine.ts'

export const searchUnavailable = 'Search is temporarily unavailable. Try again in a moment.'

/** `reason`: why PostgreSQL answered, or why the answer of the engine is incomplete. */
export type SearchOutcome =
  | ({ source: 'index'; reason: string } & EngineAnswer<SearchResult>)
  | { source: 'database'; reason: string; result: DatabaseResult }
  /** The client has disconnected: nobody would read a response. */
  | { source: 'cancelled' }

type SearchWithFallbackOptions = {
  database: SearchDatabase
  /** Limits the searches in PostgreSQL. */
  fallbackLimit: ConcurrencyLimit
  /** They are tried in this order. */
  engines: EngineCandidate[]
  indexName: string
  relaxations: RelaxationQueue
  wordMatches: WordMatches
  request: SearchRequest
  companyWords: SearchWords
  /** Aborts when the client disconnects. */
  disconnected: AbortSignal
  observer: EngineObserver
}

/**
 * Searches in an engine, in the next one if it fails, and then in PostgreSQL. Throws an
 * `unavailable` problem if PostgreSQL fails too, or if too many searches wait for it.
 */
export async function searchWithFallback(
  options: SearchWithFallbackOptions,
): Promise<SearchOutcome> {
  const { engines, indexName, relaxations, wordMatches, disconnected, observer } = options
  const { text, ...others } = options.request
  const request = { ...others, query: parseQuery(text, options.companyWords) }
  const { answer, lastOutcome } = await searchEngines({
    engines,
    search: (engine, signal) =>
      searchInEngine({ engine, indexName, relaxations, wordMatches }, request, signal),
    disconnected,
    observer,
  })
  const reason = describeReason(lastOutcome)
  if (answer) return { source: 'index', reason, ...answer }
  return searchFallback(options, request, reason)
}

function describeReason(outcome: RequestOutcome | 'cancelled' | null): string {
  if (outcome === null) return 'no engine available'
  // An incomplete answer without an error: too many searches were relaxed at the same time.
  return outcome === 'answered' ? 'not relaxed' : `engine ${outcome}`
}

async function searchFallback(
  { database, fallbackLimit, engines, disconnected }: SearchWithFallbackOptions,
  request: ParsedRequest,
  reason: string,
): Promise<SearchOutcome> {
  try {
    if (disconnected.aborted) return { source: 'cancelled' }
    // If no engine was tried, the search may also wait for the time that an engine would have had.
    const moreWaitMs = engines.length === 0 ? timeouts.search.engine.ms : 0
    const search = () => searchInPostgres(database, request, disconnected)
    const result = await fallbackLimit.run(search, { moreWaitMs })
    return { source: 'database', reason, result }
  } catch (cause) {
    if (disconnected.aborted) return { source: 'cancelled' }
    if (cause instanceof Problem) throw cause
    throw createUnavailable(cause)
  }
}

/** Returns the problem of a search or a look-up that PostgreSQL did not answer. */
export function createUnavailable(cause: unknown): Problem {
  const retryAfterSeconds = timeouts.search.retryAfter.ms / 1_000
  return new Problem('unavailable', searchUnavailable, {
    headers: { 'retry-after': String(retryAfterSeconds) },
    cause,
  })
}
