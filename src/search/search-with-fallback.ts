// Runs one search: in an engine, in the next one if that fails, and then in PostgreSQL.
import { isPostgresUnavailable } from '../database/failover/broken-connections.ts'
import { Problem } from '../http/problem-details.ts'
import type { LogFields } from '../http/request-log.ts'
import type { ConcurrencyLimit } from '../overload/concurrency-limit.ts'
import type { WatchedEngine } from '../search-engine/engine-selection.ts'
import type { IndexState } from '../search-engine/read-index-states.ts'
import {
  classifyFailure,
  EngineFailure,
  EngineTimeout,
  type RequestOutcome,
} from '../search-engine/request-outcome.ts'
import { timeouts } from '../timeouts.ts'
import { type SearchDatabase, searchInPostgres } from './fallback/search-in-postgres.ts'
import type { SearchLog, SearchObserver } from './metrics-and-log.ts'
import type { ParsedRequest, SearchResult } from './schema.ts'
import { type EngineAnswer, type SearchedIndex, searchInEngine } from './search-in-engine.ts'

export const searchUnavailable = 'Search is temporarily unavailable. Try again in a moment.'

/** At most two engines are tried, so a search waits for at most two timeouts. */
const maxEngines = 2

/**
 * Why a search is degraded: the `reason` in the log. docs/search.md says when each occurs.
 * `engine …` tells how the last request to an engine failed (RequestOutcome).
 */
export type DegradedReason =
  | 'no engine available'
  | 'engine outage'
  | 'engine timeout'
  | 'engine rejected'
  | 'not relaxed'
  | 'internal error'

/** What answered a search. The service logs all but the result. */
export type SearchAnswer = {
  result: SearchResult
  /** How many engines the search was sent to. */
  attempts: number
} & (
  | {
      source: 'index'
      /** Why the result may lack products; null if the index has answered completely. */
      degradedReason: DegradedReason | null
      /** The name of the engine in the log. */
      engineName: string
      /** The name under which the index of the engine is registered. */
      registrationName: string
      /** Read before the search: the result contains at least what this state says. */
      indexState: IndexState
    }
  | {
      source: 'database'
      /** Why no engine answered. */
      degradedReason: DegradedReason
    }
)

/** What the searches of a process share. */
export type SearchResources = {
  index: SearchedIndex
  database: SearchDatabase
  /** Limits the searches in PostgreSQL. */
  fallbackLimit: ConcurrencyLimit
  observer: SearchObserver
  log: SearchLog
}

/**
 * Searches in the first of these engines, in the second one if it fails, and then in PostgreSQL.
 * `disconnected` aborts when the client disconnects; then the answer is null. Calls `onFallback`
 * before it searches in PostgreSQL, with what the log says about the engines. Throws an
 * `unavailable` problem if PostgreSQL fails too, or if too many searches wait for it.
 */
export async function searchWithFallback(
  resources: SearchResources,
  engines: WatchedEngine[],
  request: ParsedRequest,
  disconnected: AbortSignal,
  onFallback: (logFields: LogFields) => void = () => undefined,
): Promise<SearchAnswer | null> {
  // The client may have disconnected while the search waited for capacity.
  if (disconnected.aborted) return null
  const { index, observer, log } = resources
  let failure: DegradedReason = 'no engine available'
  let attempts = 0
  for (const watched of engines.slice(0, maxEngines)) {
    attempts += 1
    const { engine, engineName, registrationName, breaker } = watched
    const indexState = watched.getLastKnownState()
    const { signal, clearTimeLimit } = createTimeLimit(disconnected)
    const answer: EngineAnswer | FailedSearch = await searchInEngine(
      index,
      engine,
      request,
      signal,
    ).catch(toFailedSearch)
    if (!answer.mayHavePendingRequest) clearTimeLimit()
    const { requestOutcome, breakerRecord, degradedReason, engineError, defect } =
      assessAnswer(answer)
    if (defect !== null) log.logDefect(defect)
    observer.countEngineRequest(engineName, disconnected.aborted ? 'cancelled' : requestOutcome)
    if (disconnected.aborted) return null
    if (requestOutcome === 'rejected') log.logRejection(engineName, engineError)
    if (breakerRecord) breaker.record(breakerRecord.outcome, breakerRecord.error)
    if (answer.result) {
      const { result } = answer
      const source = 'index'
      return { source, result, degradedReason, attempts, engineName, registrationName, indexState }
    }
    failure = degradedReason ?? failure
    // Another engine would reject the same search, and the defect would fail it again.
    if (requestOutcome === 'rejected' || defect !== null) break
  }
  onFallback({ attempts, reason: failure })
  // If no engine was tried, the search may also wait for the time that an engine would have had.
  const moreWaitMs = engines.length === 0 ? timeouts.search.engine.ms : 0
  const result = await searchInDatabase(resources, request, disconnected, moreWaitMs)
  return result && { source: 'database', result, degradedReason: failure, attempts }
}

/** A search without a result from an engine, because of `error`: an `EngineFailure` or a defect. */
type FailedSearch = { ended: 'failed'; result: null; error: unknown; mayHavePendingRequest: true }

function toFailedSearch(error: unknown): FailedSearch {
  return { ended: 'failed', result: null, error, mayHavePendingRequest: true }
}

type Assessment = {
  /** Counted in metrics. */
  requestOutcome: RequestOutcome | 'defect'
  /**
   * Decides whether the engine gets further searches. Null if the search says nothing about the
   * engine.
   */
  breakerRecord: { outcome: RequestOutcome; error?: unknown } | null
  degradedReason: DegradedReason | null
  /** The error of the engine's client; null if there is none. */
  engineError: unknown
  /** An error of the code that plans the requests or uses their results; null if there is none. */
  defect: unknown
}

/** Returns what a search says about the engine and about the response. */
function assessAnswer({ ended, error }: EngineAnswer | FailedSearch): Assessment {
  const answered = { outcome: 'answered' } as const
  if (ended === 'complete' || ended === 'not relaxed')
    return {
      requestOutcome: 'answered',
      breakerRecord: answered,
      degradedReason: ended === 'complete' ? null : ended,
      engineError: null,
      defect: null,
    }
  // This is our own error, so it must not open the engine's circuit breaker. The engine may not
  // have received a request yet, so nothing else is recorded either.
  if (!(error instanceof EngineFailure))
    return {
      requestOutcome: 'defect',
      breakerRecord: null,
      degradedReason: 'internal error',
      engineError: null,
      defect: error,
    }
  const engineError = error.cause
  const requestOutcome = classifyFailure(engineError)
  // If only relaxing a query takes too long, the engine has still answered the first request.
  const isOnlySlow = ended === 'relaxation failed' && requestOutcome === 'timeout'
  return {
    requestOutcome,
    breakerRecord: isOnlySlow ? answered : { outcome: requestOutcome, error: engineError },
    degradedReason: `engine ${requestOutcome}`,
    engineError,
    defect: null,
  }
}

/**
 * Returns a signal that aborts with an `EngineTimeout` at the time limit, or when the client
 * disconnects, and a function that clears the time limit. If an early word count is still running,
 * leave the timer on: it ends that request. Aborting it now would close a reusable connection.
 */
function createTimeLimit(disconnected: AbortSignal): {
  signal: AbortSignal
  clearTimeLimit(): void
} {
  const limitMs = timeouts.search.engine.ms
  const stop = new AbortController()
  disconnected.addEventListener('abort', () => stop.abort(), { once: true })
  // Creates the error only at the limit, because its stack trace costs more than the timer.
  const timer = setTimeout(() => stop.abort(new EngineTimeout(limitMs)), limitMs).unref()
  return { signal: stop.signal, clearTimeLimit: () => clearTimeout(timer) }
}

/** Returns null if the client has disconnected. */
async function searchInDatabase(
  { database, fallbackLimit }: SearchResources,
  request: ParsedRequest,
  disconnected: AbortSignal,
  moreWaitMs: number,
): Promise<SearchResult | null> {
  try {
    const search = () => searchInPostgres(database, request, disconnected)
    return await fallbackLimit.run(search, { moreWaitMs })
  } catch (cause) {
    if (disconnected.aborted) return null
    throw toSearchProblem(cause)
  }
}

/**
 * Returns the problem of a search or a look-up if PostgreSQL cannot answer now, and otherwise the
 * error itself.
 */
export function toSearchProblem(cause: unknown): unknown {
  if (!isPostgresUnavailable(cause)) return cause
  const retryAfterSeconds = timeouts.search.retryAfter.ms / 1_000
  return new Problem('unavailable', searchUnavailable, {
    headers: { 'retry-after': String(retryAfterSeconds) },
    cause,
  })
}
