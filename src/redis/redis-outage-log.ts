// Logs when Redis becomes unreachable and when it is reachable again.
import type { Redis } from 'ioredis'
import { describeError } from '../monitoring/describe-error.ts'

type Log = { warn(text: string): void; info(text: string): void }

/**
 * Logs one line for each change, because the service works without Redis and nothing else would
 * show the outage. Returns a function that stops the log.
 */
export function logRedisOutages(redis: Redis, log: Log): () => void {
  let isReachable = true
  let reason = ''
  const onError = (error: unknown) => {
    reason = ` (${describeError(error)})`
  }
  const onDisconnect = () => {
    if (!isReachable) return
    isReachable = false
    log.warn(`Redis is unreachable${reason}: each process caches and limits on its own`)
  }
  const onReady = () => {
    if (!isReachable) log.info('Redis is reachable again: caches and limits are shared')
    isReachable = true
    reason = ''
  }
  redis.on('error', onError).on('reconnecting', onDisconnect).on('ready', onReady)
  if (redis.status !== 'ready') onDisconnect()
  return () =>
    void redis.off('error', onError).off('reconnecting', onDisconnect).off('ready', onReady)
}
