// Logs the requests that were rejected because of overload, and how many they were.
import type { FastifyInstance } from 'fastify'
import { LineLimit } from '../monitoring/line-limit.ts'
import { timeouts } from '../timeouts.ts'

export type LoggedRejection = { reqId: string; method: string; route: string | null }

/**
 * Returns a function that logs a rejection. Of more than a hundred a second, only the first hundred
 * get a line, because under overload the lines would cost more than the rejections. Every ten
 * seconds one line has the number of all of them.
 */
export function createRejectionLog(app: FastifyInstance): (rejection: LoggedRejection) => void {
  const limit = new LineLimit()
  let rejected = 0
  let timer: NodeJS.Timeout | undefined
  function logSum(): void {
    clearTimeout(timer)
    timer = undefined
    if (rejected > 0)
      app.log.warn(
        { rejected, unlogged: limit.takeUnlogged() },
        'requests were rejected because of overload',
      )
    rejected = 0
  }
  app.addHook('onClose', async () => logSum())
  return (rejection) => {
    rejected += 1
    timer ??= setTimeout(logSum, timeouts.overload.logInterval.ms).unref()
    if (limit.allows())
      app.log.info(
        { ...rejection, status: 503, code: 'unavailable', reason: 'overload' },
        'request',
      )
  }
}
