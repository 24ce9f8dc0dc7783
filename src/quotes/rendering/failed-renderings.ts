// Remembers which renderings failed because of their document, and when each may be tried again.
import { LRUCache } from 'lru-cache'
import { timeouts } from '../../timeouts.ts'
import {
  type FailureReason,
  failures,
  getRenderingFailureReason,
  QuoteFailure,
} from '../failures.ts'

type FailedRendering = {
  /** How often it failed in succession. */
  count: number
  reason: FailureReason
  message: string
  /** In milliseconds of `now`. Infinity: never, because the document cannot be rendered. */
  retryAt: number
}

const maxRemembered = 1_000

/** The failed renderings by key. The pause before the next attempt doubles with each failure. */
export class FailedRenderings {
  readonly #renderings = new LRUCache<string, FailedRendering>({ max: maxRemembered })
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Returns whether the rendering failed and may not be tried again yet. */
  isBlocked(key: string): boolean {
    const failed = this.#renderings.get(key)
    return failed !== undefined && failed.retryAt > this.#now()
  }

  /** Throws QuoteFailure if the rendering failed and may not be tried again yet. */
  rejectEarlyRetry(key: string): void {
    const failed = this.#renderings.get(key)
    if (!failed || !this.isBlocked(key)) return
    const { reason, message, retryAt } = failed
    if (retryAt === Number.POSITIVE_INFINITY) throw new QuoteFailure(reason, message)
    const retryAfterMs = retryAt - this.#now()
    throw new QuoteFailure('rendering-failed', `The rendering failed before: ${message}`, {
      retryAfterMs,
    })
  }

  /**
   * Remembers the failure, unless `failures` says that it may be tried again at once. Returns the
   * error for the requests, which says after which time a new request makes sense.
   */
  add(key: string, error: unknown): unknown {
    const reason = getRenderingFailureReason(error)
    const { retryRendering } = failures[reason]
    if (retryRendering === undefined) return error
    const message = error instanceof Error ? error.message : String(error)
    const count = (this.#renderings.get(key)?.count ?? 0) + 1
    if (retryRendering === 'never') {
      this.#renderings.set(key, { count, reason, message, retryAt: Number.POSITIVE_INFINITY })
      return error
    }
    const { firstFailurePause, longestFailurePause } = timeouts.quotes
    const retryAfterMs = Math.min(firstFailurePause.ms * 2 ** (count - 1), longestFailurePause.ms)
    this.#renderings.set(key, { count, reason, message, retryAt: this.#now() + retryAfterMs })
    return new QuoteFailure('rendering-failed', message, { retryAfterMs, cause: error })
  }

  /** Forgets the failures of a rendering that succeeded. */
  delete(key: string): void {
    this.#renderings.delete(key)
  }
}
