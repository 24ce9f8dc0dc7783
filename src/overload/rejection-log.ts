// Logs requests that were rejected because of overload, and their number.
import type { FastifyInstance } from 'fastify'
import { LogRateLimit } from '../monitoring/log/log-rate-limit.ts'

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
