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

/** The requests of one counter in one window, of which `sumRequests` returns the number. */
type RequestCount = {
  window: number
  /** The total of all processes, as Redis last returned it. */
  total: number
  /** Requests of this process that are being added in Redis. */
  inFlight: number
  /** Requests of this process that wait for the next batch. */
  unsent: number
  /** Requests of this process in failed batches. They wait until a batch succeeds. */
  failed: number
  /**
   * True once the first attempt to read the total of this window from Redis is over. Also true if
   * it failed, so that an outage of Redis does not delay every request.
   */
  hasAskedRedis: boolean
}

/** A counter as `incr` gets it, with its count. */
type Counter = { counterKey: string; count: RequestCount; windowMs: number }

/**
 * Above this number, the counter whose last request is longest ago is dropped. Requests that Redis
 * has not counted by then are lost. Without Redis its caller begins again at 0.
 */
const maxCounters = 10_000
const maxBatchSize = 1_000
/** Larger batches would cost fewer commands of Redis, but callers could exceed limits by more. */
const batchesPerLimit = 20

/**
 * Returns a store class that counts in fixed windows, which are the same in every process.
 *
 * 1. The first request of a caller in a window waits for Redis, which returns the total of all
 *    processes.
 * 2. Further requests do not wait. The process adds them in Redis in batches, in the background.
 * 3. If the batch size is 1 (a limit below 40), every request waits. Such a limit is exact while
 *    Redis answers.
 * 4. While Redis is unreachable or slow, each process counts and limits on its own. It adds these
 *    requests in Redis as soon as a batch succeeds again. Only a batch that Redis counted without
 *    answering in time is counted twice. A process sends at most a few such batches per second.
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
      const counter = { counterKey, count, windowMs }
      if (count.hasAskedRedis && batchSize > 1)
        callback(null, { current: this.#countInBackground(counter, batchSize), ttl })
      else
        this.#countAndWait(counter).then(
          (current) => callback(null, { current, ttl }),
          // Only a defect gets here. Without an answer, the request would wait for ever.
          (error: Error) => callback(error),
        )
    }

    child({ groupId }: { path?: string; groupId?: string }): RateLimitStore {
      return new Store(groupId)
    }

    /** Returns the number of requests as far as known. Sends a batch if it is full. */
    #countInBackground(counter: Counter, batchSize: number): number {
      const current = sumRequests(counter.count)
      if (counter.count.unsent >= batchSize)
        this.#countAndWait(counter).then(
          () => failures.logSuccess(),
          // Only a defect gets here. Unhandled, it would end the process.
          (error: Error) => failures.logFailure(error),
        )
      return current
    }

    /**
     * Adds the unsent requests to the total in Redis and returns the new total. Without Redis,
     * returns the number of requests as far as known. Rejects only because of a defect: if Redis
     * fails, OptionalRedis returns null.
     */
    async #countAndWait({ counterKey, count, windowMs }: Counter): Promise<number> {
      const redisKey = `${redisPrefix}limit:${this.#group}:${counterKey}:${count.window}`
      // The numbers that this method returns do not contain later requests. Two requests at once
      // with a limit of 1 could otherwise both get 2, and both would be rejected.
      const current = sumRequests(count)
      const sent = count.unsent
      count.unsent = 0
      count.inFlight += sent
      try {
        const total = await addInRedis(redis, redisKey, sent, windowMs)
        if (total === null) {
          count.failed += sent
          return current
        }
        count.total = Math.max(count.total, total)
        const { failed } = count
        count.unsent += failed
        count.failed = 0
        return total + failed
      } finally {
        count.inFlight -= sent
        count.hasAskedRedis = true
      }
    }

    #getCount(counterKey: string, window: number): RequestCount {
      const current = this.#counts.get(counterKey)
      if (current?.window === window) return current
      const count = { window, total: 0, inFlight: 0, unsent: 0, failed: 0, hasAskedRedis: false }
      this.#counts.set(counterKey, count)
      return count
    }
  }
}

/** Returns how many requests all processes have had, as far as known. */
function sumRequests({ total, inFlight, unsent, failed }: RequestCount): number {
  return total + inFlight + unsent + failed
}

/** Returns how many requests a batch has: 1 for limits below 40, and 5 for a limit of 100. */
function computeBatchSize(max: number): number {
  return Math.min(maxBatchSize, Math.max(1, Math.floor(max / batchesPerLimit)))
}

/** Returns the new total. Returns null if Redis fails now or failed within the last second. */
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
