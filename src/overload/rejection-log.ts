// Logs how many requests were rejected because of overload.
import type { FastifyInstance } from 'fastify'
import { timeouts } from '../timeouts.ts'

/**
 * Returns a function that counts a rejection. Every ten seconds one line has the number of
 * rejections, because a line for each would cost more than the rejection.
 */
export function createRejectionLog(app: FastifyInstance): () => void {
  let rejected = 0
  let timer: NodeJS.Timeout | undefined
  function logRejections(): void {
    clearTimeout(timer)
    timer = undefined
    if (rejected > 0) app.log.warn({ rejected }, 'requests were rejected because of overload')
    rejected = 0
  }
  app.addHook('onClose', async () => logRejections())
  return () => {
    rejected += 1
    timer ??= setTimeout(logRejections, timeouts.overload.logInterval.ms).unref()
  }
}
