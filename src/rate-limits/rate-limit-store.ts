// Counts requests for the rate limiter: in this process, and in batches in Redis for all processes.
import { LRUCache } from 'lru-cache'
import { FailureLog, type TaskLog } from '../monitoring/log/failure-log.ts'
import { executeAll, OptionalRedis, type RedisAccess } from '../redis/optional-redis.ts'
import { timeouts } from '../timeouts.ts'

type Callback = (error: Error | null, result?: { current: number; ttl: number }) => void

/** The interface that @fastify/rate-limit requires of a store. */
type RateLimitStore = {
  incr(counterKey: string, callback: Callback, windowMs: number, max: number): void
  child(route: { path?: string; groupId?: string }): RateLimitStore
}

/** The requests of one counter in one window. Their number is total + inFlight + unsent. */
type RequestCount = {
  window: number
  /** The total of all processes, as Redis last returned it. */
  total: number
  /** Requests of this process that are being added in Redis. */
  inFlight: number
  /** Requests of this process that wait for the next batch. */
  unsent: number
  /** True once Redis has answered, or failed, in this window. */
  isSynced: boolean
}

/**
 * Above this number, the counter whose last request is longest ago is dropped. Its unsent requests,
 * less than a batch, are never counted in Redis. Without Redis its caller begins again at 0.
 */
const maxCounters = 10_000
const maxBatchSize = 1_000
/** A batch is a twentieth of the limit, so that all processes know the total closely enough. */
const batchesPerLimit = 20

/**
 * Returns a store class that counts in fixed windows, which are the same in every process. At the
 * first request with a key in a window, a process waits for Redis. After that it sends requests in
 * batches, in the background. While Redis is unreachable or slow, each process limits on its own.
 *
 * With n processes a caller can exceed the limit by at most 2 × (n − 1) batches. One process brings
 * the total in Redis to the limit. Each of the others learns that from the response to its next
 * batch. Until then it accepts that batch, and at most another one while Redis responds.
 */
export function createStoreClass(
  access: RedisAccess | null,
  { redisPrefix, log }: { redisPrefix: string; log: TaskLog },
): new () => RateLimitStore {
  const redis = new OptionalRedis(access, timeouts.rateLimits.redisPause.ms)
  const failures = new FailureLog(log, {
    failure: (cause) => `Requests cannot be counted for the rate limits (${cause})`,
    recovery: 'Requests can be counted for the rate limits again',
  })

  return class Store implements RateLimitStore {
    readonly #counts = new LRUCache<string, RequestCount>({ max: maxCounters })
    readonly #group: string

    /** The plugin passes its options object here. Only `child` passes a name. */
    constructor(group: unknown = '') {
      this.#group = typeof group === 'string' ? group : ''
    }

    incr(counterKey: string, callback: Callback, windowMs: number, max: number): void {
      const now = Date.now()
      const window = Math.floor(now / windowMs)
      const ttl = (window + 1) * windowMs - now
      const count = this.#getCount(counterKey, window)
      count.unsent += 1
      const batchSize = computeBatchSize(max)
      const countsInBackground = count.isSynced && batchSize > 1
      if (!countsInBackground) {
        void this.#send(counterKey, count, windowMs).then(
          (current) => callback(null, { current, ttl }),
          // Only a defect gets here. Without an answer, the request would wait for ever.
          (error: Error) => callback(error),
        )
        return
      }
      callback(null, { current: count.total + count.inFlight + count.unsent, ttl })
      if (count.unsent >= batchSize)
        this.#send(counterKey, count, windowMs).then(
          () => failures.logSuccess(),
          // Only a defect gets here. Unhandled, it would end the process.
          (error: Error) => failures.logFailure(error),
        )
    }

    child({ groupId }: { path?: string; groupId?: string }): RateLimitStore {
      return new Store(groupId)
    }

    /**
     * Adds the unsent requests to the total in Redis and returns the new total. Without Redis,
     * returns the total of this process. An error of Redis does not reject the promise, because
     * OptionalRedis handles it.
     */
    async #send(counterKey: string, count: RequestCount, windowMs: number): Promise<number> {
      const redisKey = `${redisPrefix}limit:${this.#group}:${counterKey}:${count.window}`
      const sent = count.unsent
      count.unsent = 0
      count.inFlight += sent
      try {
        const total = await addInRedis(redis, redisKey, sent, windowMs)
        if (total === null) {
          count.total += sent
          return count.total
        }
        count.total = Math.max(count.total, total)
        // Not count.total, which may already contain later requests.
        return total
      } finally {
        count.inFlight -= sent
        count.isSynced = true
      }
    }

    #getCount(counterKey: string, window: number): RequestCount {
      const current = this.#counts.get(counterKey)
      if (current?.window === window) return current
      const count = { window, total: 0, inFlight: 0, unsent: 0, isSynced: false }
      this.#counts.set(counterKey, count)
      return count
    }
  }
}

/** Returns how many requests a batch has. Small limits are exact, and large limits are cheap. */
function computeBatchSize(max: number): number {
  return Math.min(maxBatchSize, Math.max(1, Math.floor(max / batchesPerLimit)))
}

/** Returns null if Redis is unreachable or failed within the last second. */
async function addInRedis(
  redis: OptionalRedis,
  redisKey: string,
  requests: number,
  windowMs: number,
): Promise<number | null> {
  const results = await redis.run(timeouts.redis.command.ms, (client) =>
    executeAll(
      client
        .pipeline()
        .incrby(redisKey, requests)
        .pexpire(redisKey, 2 * windowMs),
    ),
  )
  return results && Number(results[0])
}
