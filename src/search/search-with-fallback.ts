// Runs one search: in an engine, in the next one if that fails, and then in PostgreSQL.
import { Problem } from '../http/problem-details.ts'
import type { ConcurrencyLimit } from '../overload/concurrency-limit.ts'
import type { EngineCandidate } from '../search-engine/engine-selection.ts'
import type { IndexState } from '../search-engine/read-index-states.ts'
import {
  classifyFailure,
  EngineTimeout,
  type RequestFailure,
  type RequestOutcome,
} from '../search-engine/request-outcome.ts'
import { timeouts } from '../timeouts.ts'
import { type EngineAnswer, type SearchedIndex, searchInEngine } from './engine/search-in-engine.ts'
import { type SearchDatabase, searchInPostgres } from './fallback/search-in-postgres.ts'
import type { RelaxationQueue } from './relaxation/relaxation-queue.ts'
import type { WordMatches } from './relaxation/word-matches.ts'
import type { ParsedRequest, SearchResult } from './schema.ts'

export const searchUnavailable = 'Search is temporarily unavailable. Try again in a moment.'

/** At most two engines are tried, so a search waits for at most two timeouts. */
const maxEngines = 2

/**
 * What answered a search. `degradedReason`: why PostgreSQL answered, or why the result of the index
 * may lack products; null if the index has answered completely.
 */
export type SearchOutcome =
  | {
      source: 'index'
      result: SearchResult
      degradedReason: string | null
      /** The engine that answered, by the name under which its index is registered. */
      registrationName: string
      /** Read before the search: the result contains at least what this state says. */
      indexState: IndexState
    }
  | { source: 'database'; result: SearchResult; degradedReason: string }
  /** The client has disconnected: nobody would read a response. */
  | { source: 'cancelled' }

/** The engine did not answer: the next engine or PostgreSQL has to. */
type EngineFailure = { source: 'none'; outcome: RequestFailure }

/** What the searches of a process share. */
export type SearchResources = {
  indexName: string
  /** Limits how many queries are relaxed at the same time. */
  relaxations: RelaxationQueue
  wordMatches: WordMatches
  database: SearchDatabase
  /** Limits the searches in PostgreSQL. */
  fallbackLimit: ConcurrencyLimit
  /** Called once for each search that was sent to an engine. `error` is its failure, if any. */
  reportEngineRequest(
    engineName: string,
    outcome: RequestOutcome | 'cancelled',
    error: unknown,
  ): void
}

/**
 * Searches in the first of these engines, in the second one if it fails, and then in PostgreSQL.
 * `disconnected` aborts when the client disconnects. Throws an `unavailable` problem if PostgreSQL
 * fails too, or if too many searches wait for it.
 */
export async function searchWithFallback(
  resources: SearchResources,
  engines: EngineCandidate[],
  request: ParsedRequest,
  disconnected: AbortSignal,
): Promise<SearchOutcome> {
  let reason = 'no engine available'
  for (const engine of engines.slice(0, maxEngines)) {
    const attempt = await searchInOneEngine(resources, engine, request, disconnected)
    if (attempt.source !== 'none') return attempt
    reason = `engine ${attempt.outcome}`
    // Another engine would reject the same search.
    if (attempt.outcome === 'rejected') break
  }
  // If no engine was tried, the search may also wait for the time that an engine would have had.
  const moreWaitMs = engines.length === 0 ? timeouts.search.engine.ms : 0
  return searchInDatabase(resources, request, disconnected, { reason, moreWaitMs })
}

/**
 * Searches in one engine, and reports to its circuit breaker and to the metrics how that ended. An
 * incomplete result counts: another attempt would not be faster.
 */
async function searchInOneEngine(
  resources: SearchResources,
  { registrationName, label, engine, breaker, readState }: EngineCandidate,
  request: ParsedRequest,
  disconnected: AbortSignal,
): Promise<SearchOutcome | EngineFailure> {
  const indexState = readState()
  try {
    const answer = await searchWithinLimit({ ...resources, engine }, request, disconnected)
    const error = answer.kind === 'relaxation-failed' ? answer.error : undefined
    const outcome = error === undefined ? 'answered' : classifyFailure(error)
    resources.reportEngineRequest(label, disconnected.aborted ? 'cancelled' : outcome, error)
    if (disconnected.aborted) return { source: 'cancelled' }
    // If relaxing a query takes too long, that says nothing about the searches of other callers.
    breaker.record(outcome === 'timeout' ? 'answered' : outcome, error)
    const degradedReason = describeIncompleteness(answer.kind, outcome)
    return { source: 'index', result: answer.result, degradedReason, registrationName, indexState }
  } catch (error) {
    const outcome = classifyFailure(error)
    resources.reportEngineRequest(label, disconnected.aborted ? 'cancelled' : outcome, error)
    if (disconnected.aborted) return { source: 'cancelled' }
    breaker.record(outcome, error)
    return { source: 'none', outcome }
  }
}

function describeIncompleteness(
  kind: EngineAnswer['kind'],
  outcome: RequestOutcome,
): string | null {
  if (kind === 'complete') return null
  // Too many queries were being relaxed at the same time.
  return kind === 'not-relaxed' ? 'not relaxed' : `engine ${outcome}`
}

/** The reason for which the requests of a search are aborted at its time limit. */
const limitReached = new EngineTimeout(timeouts.search.engine.ms)

/** Throws if the engine does not answer within 300 ms, or if the client disconnects. */
async function searchWithinLimit(
  index: SearchedIndex,
  request: ParsedRequest,
  disconnected: AbortSignal,
): Promise<EngineAnswer> {
  const startedAt = performance.now()
  const stop = new AbortController()
  const stopNow = () => stop.abort()
  if (disconnected.aborted) stopNow()
  else disconnected.addEventListener('abort', stopNow, { once: true })
  // The timer is never cleared, because requests that the search did not need may still run when it
  // has ended. Aborting them at once would close connections that are free again soon.
  setTimeout(() => stop.abort(limitReached), timeouts.search.engine.ms).unref()
  try {
    return await searchInEngine(index, request, stop.signal)
  } finally {
    disconnected.removeEventListener('abort', stopNow)
    if (stop.signal.reason === limitReached) index.engine.replaceConnections(startedAt)
  }
}

async function searchInDatabase(
  { database, fallbackLimit }: SearchResources,
  request: ParsedRequest,
  disconnected: AbortSignal,
  { reason, moreWaitMs }: { reason: string; moreWaitMs: number },
): Promise<SearchOutcome> {
  try {
    if (disconnected.aborted) return { source: 'cancelled' }
    const search = () => searchInPostgres(database, request, disconnected)
    const result = await fallbackLimit.run(search, { moreWaitMs })
    return { source: 'database', result, degradedReason: reason }
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
