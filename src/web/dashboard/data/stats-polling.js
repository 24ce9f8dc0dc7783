// Requests the statistics from /api/stats every few seconds while the page is visible. Unchanged
// statistics are not sent again (ETag, 304).
import { fetchWithTimeout } from '../../browser/fetch-with-timeout.js'
import { maxRetryDelayMs, pollIntervalMs } from '../dashboard-intervals.js'
import { describeError, describeNetworkError } from './response-errors.js'
import { authorizationHeader } from './session-key.js'

/** @import { ErrorDescription } from './response-errors.js' */

/** @typedef {import('../../../stats/schema.ts').Stats} Stats */
/**
 * @typedef {object} StatsResponse
 * @property {Stats} stats
 * @property {boolean} isNew false after a 304
 * @property {number} asOf The statistics contain every change before this instant (Unix time in
 *   milliseconds).
 * @property {boolean} isStale The service could not compute newer statistics.
 * @property {number} currentAt when the statistics were last known to be current, on the clock of
 *   performance.now()
 */
/**
 * @typedef {'keyMissing' | 'keyInvalid' | 'scopeMissing' | 'invalidFilter' | 'limited'
 *   | 'unavailable' | 'offline' | 'failed'} ErrorKind
 */
/**
 * @typedef {object} StatsError
 * @property {ErrorKind} kind
 * @property {number | null} retryAt on the clock of performance.now(); null if the visitor must
 *   act first
 * @property {string} detail of the problem, in English
 * @property {string[]} parameters the names of invalid parameters
 */
/**
 * @typedef {object} PollingListeners
 * @property {(response: StatsResponse) => void} onResponse
 * @property {(error: StatsError) => void} onError
 */

/** Returns whether the visitor must enter a key, or another one. @param {ErrorKind} kind */
export const needsKey = (kind) =>
  kind === 'keyMissing' || kind === 'keyInvalid' || kind === 'scopeMissing'

/** Polls one query at a time. `load` with another query drops the response to the previous one. */
export class StatsPolling {
  #listeners
  #query = ''
  /** @type {{ stats: Stats, etag: string | null } | null} */
  #latest = null
  /** @type {AbortController | null} */
  #request = null
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer
  #failureCount = 0
  /** @type {StatsError | null} the error of a request that exceeded the rate limit */
  #rateLimitError = null
  #isWaitingForVisitor = false

  /** @param {PollingListeners} listeners */
  constructor(listeners) {
    this.#listeners = listeners
    document.addEventListener('visibilitychange', () => this.#resume())
    addEventListener('online', () => this.#resume())
  }

  /** @param {string} query for /api/stats */
  load(query) {
    if (query !== this.#query) this.#latest = null
    this.#query = query
    this.#isWaitingForVisitor = false
    if (this.#rateLimitError && this.#rateLimitDelay() > 0) {
      this.#request?.abort()
      this.#request = null
      this.#listeners.onError(this.#rateLimitError)
      this.#schedule(this.#rateLimitDelay())
    } else {
      void this.#send()
    }
  }

  /** Repeats the request now, for example because the visitor has entered a key. */
  retry() {
    void this.#send()
  }

  /**
   * Treats an error of another request for the same statistics like one of this request.
   * @param {ErrorDescription} error
   */
  fail(error) {
    this.#request?.abort()
    this.#handleError(error)
  }

  async #send() {
    clearTimeout(this.#timer)
    this.#request?.abort()
    const request = new AbortController()
    this.#request = request
    const result = await this.#requestStats(request.signal)
    // A later request has replaced this one.
    if (request.signal.aborted) return
    if ('error' in result) return this.#handleError(result.error)
    const { response, stats } = result
    const isNew = stats !== this.#latest?.stats
    this.#latest = { stats, etag: response.headers.get('etag') ?? this.#latest?.etag ?? null }
    this.#handleResponse(response, stats, isNew)
  }

  /**
   * Returns the statistics, those of the last response if they have not changed, or an error.
   * @param {AbortSignal} signal
   * @returns {Promise<{ response: Response, stats: Stats } | { error: ErrorDescription }>}
   */
  async #requestStats(signal) {
    try {
      const authorization = authorizationHeader()
      const response = await this.#fetch(authorization, signal)
      if (response.status === 304 && this.#latest) return { response, stats: this.#latest.stats }
      if (response.ok) return { response, stats: await response.json() }
      return { error: await describeError(response, 'authorization' in authorization) }
    } catch {
      // Network errors, which the browser logs, timeouts and malformed bodies.
      return { error: describeNetworkError() }
    }
  }

  /** @param {Record<string, string>} authorization @param {AbortSignal} signal */
  #fetch(authorization, signal) {
    const etag = this.#latest?.etag
    return fetchWithTimeout(this.#query === '' ? 'api/stats' : `api/stats?${this.#query}`, {
      headers: {
        accept: 'application/json',
        ...authorization,
        ...(etag && { 'if-none-match': etag }),
      },
      cache: 'no-store',
      credentials: 'same-origin',
      signal,
    })
  }

  /** @param {Response} response @param {Stats} stats @param {boolean} isNew */
  #handleResponse({ headers }, stats, isNew) {
    this.#request = null
    this.#failureCount = 0
    this.#rateLimitError = null
    this.#isWaitingForVisitor = false
    const ageMs = Number(headers.get('age') ?? 0) * 1_000
    // A 304 has no body. Both instants are on the clock of the service.
    const sentAt = isNew ? Number.NaN : Date.parse(headers.get('date') ?? '')
    const asOf = Number.isNaN(sentAt) ? Date.parse(stats.asOf) : sentAt - ageMs
    const isStale = /fwd=stale/.test(headers.get('cache-status') ?? '')
    this.#schedule(pollIntervalMs)
    this.#listeners.onResponse({
      stats,
      isNew,
      asOf,
      isStale,
      currentAt: performance.now() - ageMs,
    })
  }

  /** @param {ErrorDescription} error */
  #handleError({ kind, retryAfterMs = null, detail = '', parameters = [] }) {
    this.#request = null
    this.#failureCount += 1
    // A repeated request would fail again: the visitor must act first.
    this.#isWaitingForVisitor = needsKey(kind) || kind === 'invalidFilter'
    const backoffMs = Math.min(pollIntervalMs * 2 ** (this.#failureCount - 1), maxRetryDelayMs)
    const delayMs = retryAfterMs ?? backoffMs
    const retryAt = this.#isWaitingForVisitor ? null : performance.now() + delayMs
    const error = { kind, retryAt, detail, parameters }
    this.#rateLimitError = kind === 'limited' ? error : null
    this.#listeners.onError(error)
    if (retryAt !== null) this.#schedule(delayMs)
  }

  /** @param {number} delayMs */
  #schedule(delayMs) {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (!document.hidden) void this.#send()
    }, delayMs)
  }

  /** Continues after the page became visible or the browser is online again. */
  #resume() {
    if (document.hidden || this.#isWaitingForVisitor || this.#request) return
    this.#schedule(this.#rateLimitDelay())
  }

  /** Returns the milliseconds until the rate limit allows another request. */
  #rateLimitDelay() {
    return Math.max(0, (this.#rateLimitError?.retryAt ?? 0) - performance.now())
  }
}
