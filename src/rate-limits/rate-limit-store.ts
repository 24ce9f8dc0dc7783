// Counts requests for the rate limiter: in this process, and in batches in Redis for all processes.
import { OptionalRedis, type RedisAccess } from '../redis/optional-redis.ts'
import { WindowCounts } from './window-counts.ts'

// Without it every request of an outage would wait for Redis.
export const redisPause = { ms: 1_000 }

type Callback = (error: Error | null, result?: { current: number; ttl: number }) => void

/** The interface that @fastify/rate-limit requires of a store. */
type RateLimitStore = {
  incr(counterKey: string, callback: Callback, windowMs: number, max: number): void
  child(route: { path?: string; groupId?: string }): RateLimitStore
}

/**
 * The maximum number of callers per limit that a process remembers. The least recently used is
 * dropped. Without Redis, that caller begins again at 0.
 */
const maxCounts = 10_000
const maxBatchSize = 1_000
/** Larger batches would cost fewer commands of Redis, but callers could exceed limits by more. */
const batchesPerLimit = 20

/**
 * Returns a store class that counts in fixed windows, which are the same in every process.
 *
 * 1. Until Redis has answered or failed once, the requests of a caller in a window wait for it. It
 *    returns the total of all processes.
 * 2. Later requests do not wait. The process adds them in Redis in batches, in the background.
 * 3. If the batch size is 1 (a limit below 40), every request waits. Such a limit is exact while
 *    Redis answers.
 * 4. While Redis is unreachable or slow, each process limits on its own (window-counts.ts).
 *
 * With batches, a caller can exceed the limit. An example with two processes, the limit 100 and so
 * batches of 5:
 *
 * | process | event                                                       | total in Redis |
 * | ------- | ----------------------------------------------------------- | -------------- |
 * | B       | accepts one request, and knows the total 1                  | 1              |
 * | A       | accepts 99 requests, and rejects the next                   | 100            |
 * | B       | accepts 5 requests, and sends them as a batch               | 105            |
 * | B       | accepts up to 5 requests before Redis responds              | 110            |
 * | B       | knows from the response that the total is 105, and rejects  | 110            |
 *
 * So every process but one accepts at most two batches too many: 10 requests here. This holds if
 * Redis responds before the process has filled a further batch.
 */
export function createStoreClass(
  access: RedisAccess | null,
  redisPrefix: string,
): new () => RateLimitStore {
  const redis = new OptionalRedis(access, redisPause.ms)

  return class Store implements RateLimitStore {
    readonly #counts: WindowCounts

    /**
     * The plugin calls this once with its options, when it is registered. It calls `child` for
     * each limit, and `child` passes the name of the limit.
     */
    constructor(nameOrOptions: string | object = '') {
      const name = typeof nameOrOptions === 'string' ? nameOrOptions : ''
      const prefix = `${redisPrefix}limit:${name}`
      const buildRedisKey = (key: string, window: number) => `${prefix}:${key}:${window}`
      this.#counts = new WindowCounts({ redis, maxCounts, buildRedisKey })
    }

    incr(counterKey: string, callback: Callback, windowMs: number, max: number): void {
      const count = this.#counts.add(counterKey, windowMs)
      const ttl = count.endsAt - Date.now()
      const batchSize = computeBatchSize(max)
      if (!count.hasAskedRedis || batchSize === 1) {
        count.sendToRedis().then((current) => callback(null, { current, ttl }), callback)
        return
      }
      if (count.unsent >= batchSize) void count.sendToRedis()
      callback(null, { current: count.knownTotal, ttl })
    }

    child({ groupId }: { path?: string; groupId?: string }): RateLimitStore {
      return new Store(groupId)
    }
  }
}

/** Returns how many requests a batch has: 1 for limits below 40, and 5 for a limit of 100. */
function computeBatchSize(max: number): number {
  return Math.min(maxBatchSize, Math.max(1, Math.floor(max / batchesPerLimit)))
}
