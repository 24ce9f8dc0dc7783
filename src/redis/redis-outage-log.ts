// Says in the log that Redis is away, and that it is back: everything goes on without it, so that nobody would notice.
import type { Redis } from 'ioredis'
import { causeOf } from '../monitoring/error-cause.ts'

type Log = { warn(text: string): void; info(text: string): void }

/** One line for each change, however often Redis is tried meanwhile, and none when the connection is closed by us. Ends with what it gives. */
export function logRedis(redis: Redis, log: Log): () => void {
  let isAway = false
  let reason = ''
  const onError = (error: unknown) => {
    reason = ` (${causeOf(error)})`
  }
  const onAway = () => {
    if (isAway) return
    isAway = true
    log.warn(`Redis is away${reason}: limits and caches are each process's own until it is back`)
  }
  const onReady = () => {
    if (isAway) log.info('Redis is back: limits and caches are shared again')
    isAway = false
    reason = ''
  }
  redis.on('error', onError).on('reconnecting', onAway).on('ready', onReady)
  if (redis.status !== 'ready') onAway()
  return () => void redis.off('error', onError).off('reconnecting', onAway).off('ready', onReady)
}
