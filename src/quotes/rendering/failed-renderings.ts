// Remembers failed renderings, and when each may be tried again. It remembers only failures that
// will probably recur: those with `retryRendering` in failures.ts.
import { LRUCache } from 'lru-cache'
import {
  type FailureReason,
  failureRules,
  getRenderingFailureReason,
  HandledFailure,
} from '../failures.ts'

// The cause may be short, such as a busy machine. Each attempt may cost seconds.
const firstFailurePauseMs = 30_000
// A document that always fails costs each process one attempt an hour.
const maxFailurePauseMs = 3_600_000

type FailedRendering = {
  /** How often it failed in succession. */
  count: number
  reason: FailureReason
  message: string
  /** By the clock of `now`. Infinity: never, because the document cannot be rendered. */
  retryAt: number
}

const maxRemembered = 1_000

/** The failed renderings by key. The pause before the next attempt doubles with each failure. */
export class FailedRenderings {
  readonly #failedByKey = new LRUCache<string, FailedRendering>({ max: maxRemembered })
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Returns whether the rendering failed and may not be tried again yet. */
  isBlocked(key: string): boolean {
    const failed = this.#failedByKey.get(key)
    return failed !== undefined && failed.retryAt > this.#now()
  }

  /** Throws HandledFailure if the rendering failed and may not be tried again yet. */
  rejectEarlyRetry(key: string): void {
    const failed = this.#failedByKey.get(key)
    if (!failed || !this.isBlocked(key)) return
    const { reason, message, retryAt } = failed
    throw new HandledFailure(reason, `The rendering failed before: ${message}`, {
      ...(Number.isFinite(retryAt) && { retryAfterMs: retryAt - this.#now() }),
    })
  }

  /**
   * Returns what the requests get that wait for a rendering which ended with this error. Remembers
   * it if it will probably recur.
   */
  wrapAndRemember(key: string, error: unknown): HandledFailure {
    const reason = getRenderingFailureReason(error)
    const message = error instanceof Error ? error.message : String(error)
    const { retryRendering } = failureRules[reason]
    const count = (this.#failedByKey.get(key)?.count ?? 0) + 1
    const pauseMs = getPauseMs(retryRendering, count)
    if (pauseMs > 0)
      this.#failedByKey.set(key, { count, reason, message, retryAt: this.#now() + pauseMs })
    return new HandledFailure(reason, message, {
      cause: error,
      ...(retryRendering === 'after-pause' && { retryAfterMs: pauseMs }),
    })
  }

  /** Forgets the failures of a rendering that succeeded. */
  forget(key: string): void {
    this.#failedByKey.delete(key)
  }
}

/** Returns the time until a rendering that has failed `count` times may be tried again. */
function getPauseMs(retryRendering: 'after-pause' | 'never' | undefined, count: number): number {
  if (retryRendering === undefined) return 0
  if (retryRendering === 'never') return Number.POSITIVE_INFINITY
  return Math.min(firstFailurePauseMs * 2 ** (count - 1), maxFailurePauseMs)
}
