// Opens the connection to Redis. The caller closes it with `redis.disconnect()`.
import { Redis } from 'ioredis'
import { timeouts } from '../timeouts.ts'

const { connect, command, backoffStep, backoffMax } = timeouts.redis

/**
 * Returns a connection that fails fast: while Redis is unreachable a command rejects at once and
 * the connection reconnects in the background. Resolves after the first attempt to connect, even
 * if it failed.
 */
export async function openRedis(url: string): Promise<Redis> {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: connect.ms,
    commandTimeout: command.ms,
    retryStrategy: (attempt) => Math.min(attempt * backoffStep.ms, backoffMax.ms),
  })
  // redis-outage-log.ts logs errors. An error without a listener would end the process.
  redis.on('error', () => undefined)
  await new Promise((resolve) => redis.once('ready', resolve).once('close', resolve))
  return redis
}
