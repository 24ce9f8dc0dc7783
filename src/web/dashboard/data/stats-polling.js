// Requests the statistics from /api/stats every few seconds while the page is visible. Unchanged
// statistics are not sent again (ETag, 304).
import { maxRetryDelayMs, pollIntervalMs } from '../dashboard-intervals.js'
import { authorizationHeader } from './session-key.js'

/** @typedef {import('../../../stats/schema.ts').Stats} Stats */
/**
 * @typedef {object} StatsResponse
 * @property {Stats} stats
 * @property {boolean} isNew false after a 304
 * @property {number} asOf The statistics contain every change before this instant (Unix time in
 *   milliseconds).
 * @property {boolean} isStale The service could not compute newer statistics.
 * @property {number} computedAt on the clock of performance.now()
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

/** @type {ErrorKind[]} A repeated request would fail again: the visitor must act first. */
const kindsWithoutRetry = ['keyMissing', 'keyInvalid', 'scopeMissing', 'invalidFilter']

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

  async #send() {
    clearTimeout(this.#timer)
    this.#request?.abort()
    const request = new AbortController()
    this.#request = request
    try {
      const authorization = authorizationHeader()
      const response = await this.#fetch(authorization, request.signal)
      if (response.status === 304 && this.#latest) {
        this.#handleResponse(response, this.#latest.stats, false)
      } else if (response.ok) {
        const stats = await response.json()
        request.signal.throwIfAborted()
        this.#latest = { stats, etag: response.headers.get('etag') }
        this.#handleResponse(response, stats, true)
      } else {
        this.#handleError(await describeError(response, 'authorization' in authorization))
      }
    } catch {
      // Covers network errors and malformed bodies. The browser logs network errors.
      if (request.signal.aborted) return
      this.#handleError({ kind: navigator.onLine ? 'unavailable' : 'offline' })
    }
  }

  /**
   * @param {Record<string, string>} authorization
   * @param {AbortSignal} signal
   */
  #fetch(authorization, signal) {
    const etag = this.#latest?.etag
    return fetch(this.#query === '' ? 'api/stats' : `api/stats?${this.#query}`, {
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

  /**
   * @param {Response} response
   * @param {Stats} stats
   * @param {boolean} isNew
   */
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
      computedAt: performance.now() - ageMs,
    })
  }

  /** @param {ErrorDescription} error */
  #handleError({ kind, retryAfterMs = null, detail = '', parameters = [] }) {
    this.#request = null
    this.#failureCount += 1
    this.#isWaitingForVisitor = kindsWithoutRetry.includes(kind)
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

/**
 * @typedef {object} ErrorDescription
 * @property {ErrorKind} kind
 * @property {number | null} [retryAfterMs]
 * @property {string} [detail]
 * @property {string[]} [parameters]
 */

/**
 * @param {Response} response
 * @param {boolean} hadKey
 * @returns {Promise<ErrorDescription>}
 */
async function describeError(response, hadKey) {
  // The error page of a proxy is no JSON. Its status is sufficient.
  const problem = /** @type {{ detail?: string, errors?: { parameter: string }[] }} */ (
    await response.json().catch(() => ({}))
  )
  const retryAfterSeconds = Number(response.headers.get('retry-after'))
  return {
    kind: errorKindOf(response.status, hadKey),
    retryAfterMs: retryAfterSeconds > 0 ? retryAfterSeconds * 1_000 : null,
    detail: problem.detail ?? '',
    parameters: (problem.errors ?? []).map(({ parameter }) => parameter),
  }
}

/**
 * @param {number} status
 * @param {boolean} hadKey
 * @returns {ErrorKind}
 */
function errorKindOf(status, hadKey) {
  if (status === 401) return hadKey ? 'keyInvalid' : 'keyMissing'
  if (status === 403) return 'scopeMissing'
  if (status === 400) return 'invalidFilter'
  if (status === 429) return 'limited'
  return status === 503 || status === 502 || status === 504 ? 'unavailable' : 'failed'
}
