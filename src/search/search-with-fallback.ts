// Runs one search: in an engine, in the next one if that fails, and then in PostgreSQL.
import { isPostgresUnavailable } from '../database/failover/broken-connections.ts'
import { Problem } from '../http/problem-details.ts'
import type { LogFields } from '../http/request-log.ts'
import type { ConcurrencyLimit } from '../overload/concurrency-limit.ts'
import type { WatchedEngine } from '../search-engine/engine-selection.ts'
import type { IndexState } from '../search-engine/read-index-states.ts'
import type { RequestOutcome } from '../search-engine/request-outcome.ts'
import { engineTimeout } from '../search-engine/search-client.ts'
import { type SearchDatabase, searchInPostgres } from './fallback/search-in-postgres.ts'
import type { Logger, SearchLog, SearchObserver } from './metrics-and-log.ts'
import type { ParsedRequest, SearchResult } from './schema.ts'
import {
  type EngineAnswer,
  type EngineSearchResources,
  type SearchEnding,
  searchInEngine,
} from './search-in-engine.ts'

// The circuit breaker has probed the engine again by then.
const retryAfterMs = 2_000

export const searchUnavailable = 'Search is temporarily unavailable. Try again in a moment.'

/** A search tries at most this many engines, so it waits for at most two timeouts. */
const maxEngines = 2

/** Why a search is degraded: the `reason` in the log. docs/search.md says when each occurs. */
export type DegradedReason =
  | 'no engine available'
  | 'engine outage'
  | 'engine timeout'
  | 'engine rejected'
  | 'not relaxed'
  | 'internal error'

/** What the ending of a search in an engine causes in the log, the metric and the breaker. */
type EndingEffects = {
  /** The `reason` in the log, if this search degrades the response. */
  reason: DegradedReason | null
  /** The `outcome` in the metric of attempts (SearchObserver). */
  outcome: RequestOutcome | 'defect'
  /** What the circuit breaker of the engine records. Null: nothing. */
  breaker: RequestOutcome | null
}

const endingEffects = {
  complete: { reason: null, outcome: 'answered', breaker: 'answered' },
  'not relaxed': { reason: 'not relaxed', outcome: 'answered', breaker: 'answered' },
  // The engine has answered the first request, so its breaker must not open.
  'relaxation timeout': { reason: 'engine timeout', outcome: 'timeout', breaker: 'answered' },
  rejected: { reason: 'engine rejected', outcome: 'rejected', breaker: 'rejected' },
  timeout: { reason: 'engine timeout', outcome: 'timeout', breaker: 'timeout' },
  outage: { reason: 'engine outage', outcome: 'outage', breaker: 'outage' },
  // Our own code failed. That says nothing about the engine, and may precede the request to it.
  defect: { reason: 'internal error', outcome: 'defect', breaker: null },
} satisfies Record<SearchEnding, EndingEffects>

/** What answered a search. */
export type SearchAnswer = {
  result: SearchResult
  /** How many engines the search was sent to. */
  attempts: number
  /** Why the first engine did not answer. Null unless a second one was tried. */
  failedAttempt: DegradedReason | null
} & (
  | {
      source: 'index'
      /** Why the result may lack products. Null if the index has answered completely. */
      degradedReason: DegradedReason | null
      engine: WatchedEngine
      /** Read before the search: the result contains at least what this state says. */
      indexState: IndexState
    }
  | {
      source: 'database'
      /** Why the last engine did not answer, or that none was tried. */
      degradedReason: DegradedReason
    }
)

/** What the searches of a process share. */
export type SearchResources = {
  engineSearch: EngineSearchResources
  database: SearchDatabase
  /** Limits the searches in PostgreSQL. */
  fallbackLimit: ConcurrencyLimit
  observer: SearchObserver
  log: SearchLog
}

/** What a search needs of the HTTP request that it answers. */
export type SearchContext = {
  /** Aborts when the client disconnects. */
  disconnected: AbortSignal
  /** Adds the id of the request to each line. */
  logger: Logger
  /** Called before a search in PostgreSQL, with what the log says about the engines. */
  onFallback(logFields: LogFields): void
}

/**
 * Searches in the first of these engines. If it fails, searches in the second one, and then in
 * PostgreSQL. Returns null if the client has disconnected. Throws an `unavailable` problem if
 * PostgreSQL fails too, or if too many searches wait for it.
 */
export async function searchWithFallback(
  resources: SearchResources,
  engines: WatchedEngine[],
  request: ParsedRequest,
  context: SearchContext,
): Promise<SearchAnswer | null> {
  const { engineSearch } = resources
  const { disconnected } = context
  // The client may have disconnected while the search waited for capacity.
  if (disconnected.aborted) return null
  /** Why each engine that was tried did not answer. */
  const failures: DegradedReason[] = []
  for (const watched of engines.slice(0, maxEngines)) {
    const indexState = watched.getLastKnownState()
    const answer = await searchInEngine(engineSearch, watched.engine, request, disconnected)
    reportAnswer(resources, watched, answer, context)
    if (disconnected.aborted) return null
    const { ending, result } = answer
    if (result)
      return {
        source: 'index',
        result,
        degradedReason: endingEffects[ending].reason,
        attempts: failures.length + 1,
        failedAttempt: failures.at(-1) ?? null,
        engine: watched,
        indexState,
      }
    failures.push(endingEffects[ending].reason)
    // A rejection is usually a defect of this service, so another engine would reject it too. If
    // only one index has wrong settings, PostgreSQL answers meanwhile. A defect would occur again.
    if (ending === 'rejected' || ending === 'defect') break
  }
  const attempts = failures.length
  const reason = failures.at(-1) ?? 'no engine available'
  const failedAttempt = failures.at(-2) ?? null
  context.onFallback({ attempts, ...(failedAttempt && { failedAttempt }), reason })
  // Without an attempt, no engine used up its time limit. So the wait for PostgreSQL may be longer
  // by that much.
  const extraWaitMs = attempts === 0 ? engineTimeout.ms : 0
  const result = await searchInDatabase(resources, request, disconnected, extraWaitMs)
  return result && { source: 'database', result, degradedReason: reason, attempts, failedAttempt }
}

/** Logs and counts the ending of a search in an engine, and tells its circuit breaker. */
function reportAnswer(
  { observer, log }: SearchResources,
  { engineName, breaker }: WatchedEngine,
  answer: EngineAnswer,
  { disconnected, logger }: SearchContext,
): void {
  const { outcome, breaker: breakerOutcome } = endingEffects[answer.ending]
  observer.countEngineAttempt(engineName, disconnected.aborted ? 'cancelled' : outcome)
  if (answer.ending === 'defect') log.logDefect(logger, answer.error)
  // The client may have disconnected before the engine received a request or answered it.
  if (disconnected.aborted) return
  if (answer.ending === 'rejected') log.logRejection(logger, engineName, answer.error)
  if (breakerOutcome === null) return
  breaker.record(breakerOutcome, 'error' in answer ? answer.error : undefined)
}

/** Returns null if the client has disconnected. */
async function searchInDatabase(
  { database, fallbackLimit }: SearchResources,
  request: ParsedRequest,
  disconnected: AbortSignal,
  extraWaitMs: number,
): Promise<SearchResult | null> {
  try {
    const search = () => searchInPostgres(database, request, disconnected)
    return await fallbackLimit.run(search, { extraWaitMs })
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
  const retryAfterSeconds = retryAfterMs / 1_000
  return new Problem('unavailable', searchUnavailable, {
    headers: { 'retry-after': String(retryAfterSeconds) },
    cause,
  })
}
