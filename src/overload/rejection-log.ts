// Logs requests that were rejected because of overload, and their number.
import type { FastifyInstance } from 'fastify'

// It has the number of all rejections. Of many, not each has a line of its own.
export const logIntervalMs = 10_000

export type LoggedRejection = { reqId: string; method: string; route: string | null }

/**
 * Returns a function that logs a rejection. It logs at most a hundred rejections per second,
 * because writing more lines would cost more than rejecting the requests. Every ten seconds one
 * line gives the number of all rejections.
 */
export function createRejectionLog(app: FastifyInstance): (rejection: LoggedRejection) => void {
  const limit = new LogRateLimit()
  let rejected = 0
  let timer: NodeJS.Timeout | undefined
  function logSum(): void {
    clearTimeout(timer)
    timer = undefined
    if (rejected > 0)
      app.log.warn(
        { rejected, unlogged: limit.takeSkippedCount() },
        'requests were rejected because of overload',
      )
    rejected = 0
  }
  app.addHook('onClose', async () => logSum())
  return (rejection) => {
    rejected += 1
    timer ??= setTimeout(logSum, logIntervalMs).unref()
    if (limit.tryAcquire())
      app.log.info(
        { ...rejection, status: 503, code: 'unavailable', reason: 'overload' },
        'request',
      )
  }
}

// Lines of a flood would cost more than the refusals.
const lineLimitMs = 1_000

const maxLines = 100

class LogRateLimit {
  #windowEnd = Number.NEGATIVE_INFINITY
  #lines = 0
  #skipped = 0

  /** Returns whether a line may be written now, and counts it. */
  tryAcquire(): boolean {
    const now = performance.now()
    if (now >= this.#windowEnd) {
      this.#windowEnd = now + lineLimitMs
      this.#lines = 0
    }
    this.#lines += 1
    if (this.#lines <= maxLines) return true
    this.#skipped += 1
    return false
  }

  takeSkippedCount(): number {
    const skipped = this.#skipped
    this.#skipped = 0
    return skipped
  }
}
