// Sends a search to an engine, and to the next healthy one if that fails.
import { timeouts } from '../timeouts.ts'
import type { EngineCandidate } from './engine-selection.ts'
import type { IndexState } from './index-state.ts'
import { classifyFailure, EngineTimeout, type RequestOutcome } from './request-outcome.ts'
import type { SearchEngine } from './search-client.ts'

/** At most two engines are tried, so a search waits for at most two timeouts. */
const maxAttempts = 2

export type EngineObserver = {
  /** Called once for each search that was sent to an engine. */
  countRequest(engineName: string, outcome: RequestOutcome | 'cancelled'): void
  /** Called when an engine rejects a search as invalid, with the error. */
  reportRejection(engineName: string, error: unknown): void
}

/** What a search found. */
export type Found<Result> = {
  result: Result
  isComplete: boolean
  /** The error of a later request, if the result is incomplete because that request failed. */
  error?: unknown
  /** Whether another request of this search may still be running. Its result is not needed. */
  hasRunningRequest?: boolean
}

export type EngineAnswer<Result> = Found<Result> & {
  /** The engine that answered, by the name under which its index is registered. */
  registrationName: string
  /** Read before the search: the results contain at least what this state says. */
  state: IndexState
}

type FailoverOptions<Result> = {
  /** They are tried in this order. */
  engines: EngineCandidate[]
  search(engine: SearchEngine, signal: AbortSignal): Promise<Found<Result>>
  /** Aborts when the client disconnects. */
  disconnected: AbortSignal
  observer: EngineObserver
}

/** `lastOutcome`: how the last attempt ended; null if no engine was tried. */
export type FailoverResult<Result> = {
  answer: EngineAnswer<Result> | null
  lastOutcome: RequestOutcome | 'cancelled' | null
}

/**
 * Returns the answer of the first engine that answers within 300 ms; at most two are tried. The
 * answer is null if none does, if one rejects the search as invalid, or if the client has
 * disconnected. An incomplete answer is returned, because a second attempt would not be faster.
 */
export async function searchEngines<Result>(
  options: FailoverOptions<Result>,
): Promise<FailoverResult<Result>> {
  let lastOutcome: FailoverResult<Result>['lastOutcome'] = null
  for (const candidate of options.engines.slice(0, maxAttempts)) {
    const { registrationName } = candidate
    const state = candidate.readState()
    const { found, outcome, mayTryNext } = await searchOnce(candidate, options)
    lastOutcome = outcome
    if (found) return { answer: { ...found, registrationName, state }, lastOutcome }
    if (!mayTryNext) break
  }
  return { answer: null, lastOutcome }
}

type Attempt<Result> = {
  found?: Found<Result>
  outcome: RequestOutcome | 'cancelled'
  mayTryNext: boolean
}

/** Searches in one engine, and records the outcome. Errors are recorded, not thrown. */
async function searchOnce<Result>(
  candidate: EngineCandidate,
  options: FailoverOptions<Result>,
): Promise<Attempt<Result>> {
  try {
    const found = await searchWithinLimit(candidate, options)
    const outcome = recordOutcome(candidate, options, found.error, { hasAnswer: true })
    const isWanted = !options.disconnected.aborted
    return { ...(isWanted && { found }), outcome, mayTryNext: false }
  } catch (error) {
    const outcome = recordOutcome(candidate, options, error)
    return { outcome, mayTryNext: outcome === 'timeout' || outcome === 'outage' }
  }
}

/**
 * Records how a search ended: `error` is undefined if it succeeded. With `hasAnswer`, the engine
 * answered at least its first request. Returns the outcome.
 */
function recordOutcome(
  { label, breaker }: EngineCandidate,
  { disconnected, observer }: FailoverOptions<unknown>,
  error: unknown,
  { hasAnswer = false } = {},
): RequestOutcome | 'cancelled' {
  const outcome = outcomeOf(error, disconnected)
  observer.countRequest(label, outcome)
  if (outcome === 'rejected') observer.reportRejection(label, error)
  // The circuit breaker reports the error if it opens.
  if (outcome === 'cancelled') return outcome
  // If relaxing a query takes too long, that says nothing about the searches of other callers.
  if (hasAnswer && outcome === 'timeout') breaker.record('answered')
  else breaker.record(outcome, error)
  return outcome
}

function outcomeOf(error: unknown, disconnected: AbortSignal): RequestOutcome | 'cancelled' {
  if (disconnected.aborted) return 'cancelled'
  return error === undefined ? 'answered' : classifyFailure(error)
}

/** The reason for aborting a request whose result is no longer needed. */
const notNeeded = new Error('The search has ended.')

async function searchWithinLimit<Result>(
  { engine }: EngineCandidate,
  { search, disconnected }: FailoverOptions<Result>,
): Promise<Found<Result>> {
  // One controller for both reasons to stop: the timeout, and a client that disconnects.
  const stop = new AbortController()
  const abort = () => stop.abort()
  const startedAt = performance.now()
  let hasEnded = false
  let hasRunningRequest = true
  const timer = setTimeout(() => {
    if (hasEnded) return stop.abort(notNeeded)
    stop.abort(new EngineTimeout(timeouts.search.engine.ms))
    engine.replaceConnections(startedAt)
  }, timeouts.search.engine.ms)
  if (disconnected.aborted) abort()
  else disconnected.addEventListener('abort', abort, { once: true })
  try {
    const found = await search(engine, stop.signal)
    hasRunningRequest = found.hasRunningRequest ?? false
    return found
  } finally {
    hasEnded = true
    // If a request may still be running, the timer aborts it.
    if (hasRunningRequest) timer.unref()
    else clearTimeout(timer)
    disconnected.removeEventListener('abort', abort)
  }
}
