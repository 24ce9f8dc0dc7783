// Requests search results: cancels outdated requests, retries failed ones, and caches responses.

/** @import { Hit } from './palette.d.ts' */
/**
 * @typedef {{
 *   query: string,
 *   hits: Hit[],
 *   total: number,
 *   meta?: { degraded?: boolean, corrected?: { from: string, to: string }[] },
 * }} SearchResponse
 */
/**
 * @typedef {'offline' | 'unreachable' | 'unavailable' | 'limited' | 'refused' | 'unauthenticated'
 *   | 'forbidden'} FailureReason
 */
/**
 * @typedef {object} Failure
 * @property {FailureReason} reason
 * @property {number} retryAt Time of the next attempt in milliseconds since the epoch. Infinity:
 *   the same request would fail again. After a rejected key there is no attempt until the palette
 *   is opened again.
 */
/** @typedef {(outcome: SearchResponse | Failure) => void} OutcomeListener */

/** A request is aborted after this time. */
export const requestTimeoutMs = 8_000
/** A response is reused for the same query during this time. */
const cacheMaxAgeMs = 60_000
/** The delay before a failed request is repeated. It doubles with each failure. */
const firstRetryDelayMs = 1_000
const maxRetryDelayMs = 15_000
/** Secret keys begin with this. They must never be in a page or in a URL. */
const secretKeyPrefix = 'tqs_'

/**
 * Sends one request at a time. A new request cancels the previous one, whose response is dropped
 * even if it still arrives. Failed requests are repeated, after a 429 not before `Retry-After`.
 */
export class SearchRequests {
  /** The responses of the last minute by URL. @type {Map<string, SearchResponse>} */
  #cache = new Map()
  #abortController = new AbortController()
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retryTimer
  #failureCount = 0
  #pausedUntil = 0
  /** Why the key was rejected. @type {Failure | null} */
  #rejection = null
  /** @type {{ url: string, onOutcome: OutcomeListener } | null} */
  #pending = null

  /**
   * Calls `onOutcome` with the response, immediately if it is cached, and with each failure. After
   * the key was rejected, no request is sent, and the reason is given again at once.
   * @param {string} url
   * @param {OutcomeListener} onOutcome
   */
  request(url, onOutcome) {
    this.cancel()
    const cached = this.#cache.get(url)
    if (cached) return onOutcome(cached)
    if (this.#rejection) return onOutcome(this.#rejection)
    this.#pending = { url, onOutcome }
    if (this.isPaused) this.#scheduleRetry(this.#pausedUntil)
    else void this.#send()
  }

  /** Whether the service asked to wait, so that no request is sent yet. */
  get isPaused() {
    return this.#pausedUntil > Date.now()
  }

  cancel() {
    this.#abortController.abort()
    clearTimeout(this.#retryTimer)
    this.#pending = null
  }

  /** Allows requests again after the key was rejected. */
  resume() {
    this.#rejection = null
  }

  /**
   * Sends the pending request now: the browser is online again, or the user has chosen a result.
   */
  retry() {
    if (this.#pending && !this.isPaused) void this.#send()
  }

  async #send() {
    if (!this.#pending) return
    const { url, onOutcome } = this.#pending
    this.#abortController.abort()
    clearTimeout(this.#retryTimer)
    this.#abortController = new AbortController()
    const { signal } = this.#abortController
    const outcome = await this.#fetch(url, signal)
    if (signal.aborted) return
    if ('hits' in outcome) {
      this.#failureCount = 0
      this.#pending = null
      if (!outcome.meta?.degraded) this.#keep(url, outcome)
    } else {
      this.#scheduleRetry(outcome.retryAt)
    }
    onOutcome(outcome)
  }

  /**
   * @param {string} url
   * @param {AbortSignal} signal
   * @param {boolean} [isServiceReachable] whether the service has just answered another request
   * @returns {Promise<SearchResponse | Failure>}
   */
  async #fetch(url, signal, isServiceReachable = false) {
    try {
      // Without additional headers this is a simple request: browsers send no preflight (OPTIONS).
      const response = await fetch(url, { signal: limitTime(signal) })
      if (!response.ok) return await this.#handleErrorResponse(response)
      const body = /** @type {SearchResponse} */ (await response.json())
      if (!Array.isArray(body?.hits)) throw new Error('No hits')
      return body
    } catch (error) {
      // The browser hides the response from a page that no key allows: that looks like a network
      // error. The script of the palette may be loaded by every page.
      if (error instanceof TypeError && !signal.aborted) {
        if (isServiceReachable) {
          logProblem('no publishable key allows pages of this origin.')
          return this.#reject('forbidden')
        }
        if (await canReachService(url, signal)) return this.#fetch(url, signal, true)
      }
      // Covers network errors, timeouts and malformed bodies. The browser logs network errors.
      // A cancelled request is no failure: it must not increase the retry delay.
      const retryDelayMs = signal.aborted ? 0 : this.#increaseRetryDelay()
      return {
        reason: navigator.onLine ? 'unreachable' : 'offline',
        retryAt: Date.now() + retryDelayMs,
      }
    }
  }

  /**
   * Stops further requests if the key was rejected, and pauses them if the service asks to wait.
   * @param {Response} response
   * @returns {Promise<Failure>}
   */
  async #handleErrorResponse(response) {
    const { status, headers } = response
    if (status === 401) return this.#reject('unauthenticated')
    if (status === 403) return this.#reject('forbidden')
    // The page is at fault, for example by a wrong filter or endpoint.
    if (status < 500 && status !== 408 && status !== 429) {
      logProblem(`${status} ${await response.text()}`)
      return { reason: 'refused', retryAt: Infinity }
    }
    const retryAfterSeconds = Number(headers.get('retry-after')) || 0
    const retryAt = Date.now() + (retryAfterSeconds * 1000 || this.#increaseRetryDelay())
    if (status === 429 || retryAfterSeconds > 0) this.#pausedUntil = retryAt
    return { reason: status === 429 ? 'limited' : 'unavailable', retryAt }
  }

  /** Sends no further request and forgets the responses. @param {FailureReason} reason @returns {Failure} */
  #reject(reason) {
    this.#rejection = { reason, retryAt: Infinity }
    this.#cache = new Map()
    return this.#rejection
  }

  /** @param {string} url @param {SearchResponse} response */
  #keep(url, response) {
    this.#cache.set(url, response)
    setTimeout(() => this.#cache.delete(url), cacheMaxAgeMs)
  }

  /** @param {number} retryAt */
  #scheduleRetry(retryAt) {
    if (retryAt !== Infinity)
      this.#retryTimer = setTimeout(() => this.#send(), retryAt - Date.now())
  }

  /** Counts a failure and returns the delay until the next attempt. */
  #increaseRetryDelay() {
    const delayMs = Math.min(firstRetryDelayMs * 2 ** this.#failureCount, maxRetryDelayMs)
    this.#failureCount += 1
    return delayMs
  }
}

/**
 * Returns whether the service answers a request that needs no key. Only a page of another origin
 * has a reason to ask.
 * @param {string} searchUrl
 * @param {AbortSignal} signal
 */
async function canReachService(searchUrl, signal) {
  if (new URL(searchUrl).origin === location.origin) return false
  const url = new URL('../web/palette.js', searchUrl)
  return fetch(url, { method: 'HEAD', cache: 'no-store', signal: limitTime(signal) }).then(
    ({ ok }) => ok,
    // The service is unreachable, or the request was cancelled.
    () => false,
  )
}

/** Returns a signal that also aborts at the time limit of a request. @param {AbortSignal} signal */
const limitTime = (signal) => AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)])

/** @type {Set<string>} */
const logged = new Set()

/** Tells the developer of the page what to do, or what went wrong. Each text is logged once. */
export function logProblem(/** @type {string} */ text) {
  if (!logged.has(text)) console.error(`<product-palette> on ${location.origin}: ${text}`)
  logged.add(text)
}

/**
 * Returns why a request with this key cannot succeed, or null. The service allows no page of
 * another origin to search without a key.
 * @param {string | null} key
 * @param {string} url the URL of the request
 * @returns {FailureReason | null}
 */
export function findKeyProblem(key, url) {
  const isSecret = key?.trim().startsWith(secretKeyPrefix)
  if (!isSecret && (key || new URL(url).origin === location.origin)) return null
  logProblem(
    isSecret
      ? 'this key is secret. Revoke it, and create a publishable one.'
      : 'set the attribute api-key.',
  )
  return 'unauthenticated'
}
