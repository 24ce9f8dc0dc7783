// Requests the statistics from /api/stats every few seconds while the page is visible. Unchanged
// statistics are not sent again (ETag, 304).
import { describeFailure, type ErrorKind, type Failure, get, type Stats } from './requests.ts'

/** The statistics are requested at this interval while the page is visible. */
export const pollIntervalMs = 5_000
/** After a failure the interval doubles with each further failure, up to this maximum. */
const maxRetryDelayMs = 60_000

export type StatsResponse = {
  stats: Stats
  /** false after a 304 */
  isNew: boolean
  /** The statistics contain every change before this instant (Unix time in milliseconds). */
  asOf: number
  /** The service could not compute newer statistics. */
  isStale: boolean
  /** When the statistics were last known to be current, on the clock of performance.now(). */
  currentAt: number
}
/** `retryAt` is on the clock of performance.now(); null if the visitor must act first. */
export type StatsError = Omit<Failure, 'retryAfterMs'> & { retryAt: number | null }

type Listeners = {
  onResponse: (response: StatsResponse) => void
  onError: (error: StatsError) => void
}

/** Returns whether the visitor must enter a key, or another one. */
export const needsKey = (kind: ErrorKind): boolean =>
  kind === 'keyMissing' || kind === 'keyInvalid' || kind === 'scopeMissing'

/** Polls one query at a time. `load` with another query drops the response to the previous one. */
export class StatsPolling {
  #listeners
  #query = ''
  #latest: { stats: Stats; etag: string | null } | null = null
  #request: AbortController | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #failureCount = 0
  /** The error of a request that exceeded the rate limit. */
  #rateLimitError: StatsError | null = null
  #isWaitingForVisitor = false

  constructor(listeners: Listeners) {
    this.#listeners = listeners
    document.addEventListener('visibilitychange', () => this.#resume())
    addEventListener('online', () => this.#resume())
  }

  load(query: string): void {
    if (query !== this.#query) this.#latest = null
    this.#query = query
    this.#isWaitingForVisitor = false
    if (this.#rateLimitError && this.#rateLimitDelay() > 0) {
      this.#request?.abort()
      this.#request = null
      this.#listeners.onError(this.#rateLimitError)
      this.#schedule(this.#rateLimitDelay())
    } else {
      this.retry()
    }
  }

  /** Repeats the request now, for example because the visitor has entered a key. */
  retry(): void {
    void this.#send()
  }

  /** Treats the failure of another request for the same statistics like one of this request. */
  fail(failure: Failure): void {
    this.#request?.abort()
    this.#handleFailure(failure)
  }

  async #send(): Promise<void> {
    clearTimeout(this.#timer)
    this.#request?.abort()
    const request = new AbortController()
    this.#request = request
    const result = await this.#requestStats(request.signal)
    // A later request has replaced this one.
    if (request.signal.aborted) return
    if ('failure' in result) return this.#handleFailure(result.failure)
    const { response, stats } = result
    const isNew = stats !== this.#latest?.stats
    this.#latest = { stats, etag: response.headers.get('etag') ?? this.#latest?.etag ?? null }
    this.#handleResponse(response, stats, isNew)
  }

  /** Returns the statistics, those of the last response if they have not changed, or a failure. */
  async #requestStats(
    signal: AbortSignal,
  ): Promise<{ response: Response; stats: Stats } | { failure: Failure }> {
    const etag = this.#latest?.etag
    const url = this.#query === '' ? 'api/stats' : `api/stats?${this.#query}`
    try {
      const response = await get(url, etag ? { 'if-none-match': etag } : {}, signal)
      if (response.status === 304 && this.#latest) return { response, stats: this.#latest.stats }
      if (response.ok) return { response, stats: await response.json() }
      return { failure: await describeFailure(response) }
    } catch {
      // Network errors, which the browser logs, timeouts and malformed bodies.
      return { failure: await describeFailure() }
    }
  }

  #handleResponse({ headers }: Response, stats: Stats, isNew: boolean): void {
    this.#request = null
    this.#failureCount = 0
    this.#rateLimitError = null
    this.#isWaitingForVisitor = false
    const ageMs = Number(headers.get('age') ?? 0) * 1_000
    // A 304 has no body. Both instants are on the clock of the service.
    const sentAt = isNew ? Number.NaN : Date.parse(headers.get('date') ?? '')
    this.#schedule(pollIntervalMs)
    this.#listeners.onResponse({
      stats,
      isNew,
      asOf: Number.isNaN(sentAt) ? Date.parse(stats.asOf) : sentAt - ageMs,
      isStale: /fwd=stale/.test(headers.get('cache-status') ?? ''),
      currentAt: performance.now() - ageMs,
    })
  }

  #handleFailure({ retryAfterMs, ...failure }: Failure): void {
    this.#request = null
    this.#failureCount += 1
    // A repeated request would fail again: the visitor must act first.
    this.#isWaitingForVisitor = needsKey(failure.kind) || failure.kind === 'invalidFilter'
    const backoffMs = Math.min(pollIntervalMs * 2 ** (this.#failureCount - 1), maxRetryDelayMs)
    const delayMs = retryAfterMs ?? backoffMs
    const retryAt = this.#isWaitingForVisitor ? null : performance.now() + delayMs
    const error = { ...failure, retryAt }
    this.#rateLimitError = failure.kind === 'limited' ? error : null
    this.#listeners.onError(error)
    if (retryAt !== null) this.#schedule(delayMs)
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (!document.hidden) this.retry()
    }, delayMs)
  }

  /** Continues after the page became visible or the browser is online again. */
  #resume(): void {
    if (document.hidden || this.#isWaitingForVisitor || this.#request) return
    this.#schedule(this.#rateLimitDelay())
  }

  /** Returns the milliseconds until the rate limit allows another request. */
  #rateLimitDelay(): number {
    return Math.max(0, (this.#rateLimitError?.retryAt ?? 0) - performance.now())
  }
}
