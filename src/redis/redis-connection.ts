// The connection to Redis. Whoever opens it closes it.
import { Redis } from 'ioredis'

/**
 * A Redis connection that fails fast: a command while Redis is away is an error at once, never queued, and the connection mends itself. Given
 * back when the first attempt to connect is over, well or badly. Close with `redis.disconnect()`.
 */
export async function openRedis(url: string): Promise<Redis> {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 1_000,
    commandTimeout: 250,
    retryStrategy: (attempt) => Math.min(attempt * 100, 1_000),
  })
  redis.on('error', () => undefined)
  await new Promise((resolve) => redis.once('ready', resolve).once('close', resolve))
  return redis
}
