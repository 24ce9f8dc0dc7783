// Counts events (requests or guesses) in fixed windows of time: in this process, and in
// Redis for all processes.
import { LRUCache } from 'lru-cache'
import { executeAll, type OptionalRedis } from '../redis/optional-redis.ts'
import { redisCommandTimeout } from '../redis/redis-connection.ts'

type CountOptions = {
  redis: OptionalRedis
  /** Above this number, the least recently used count is dropped. */
  maxCounts: number
  /** Windows are numbered since 1970. */
  buildRedisKey(key: string, window: number): string
}

/**
 * One count for each key. The windows are the same in every process. While Redis is unreachable or
 * slow, each process counts on its own. What it has counted is added in Redis once that succeeds
 * again, if the window has not ended: the counts of an ended window are dropped.
 */
export class WindowCounts {
  readonly #options: CountOptions
  readonly #counts: LRUCache<string, WindowCount>

  constructor(options: CountOptions) {
    this.#options = options
    // Not `max`, which would reserve the memory for all counts at the start.
    this.#counts = new LRUCache({ maxSize: options.maxCounts, sizeCalculation: () => 1 })
  }

  /** Adds one to the count of the key in the current window, in this process, and returns it. */
  add(key: string, windowMs: number): WindowCount {
    const count = this.find(key, windowMs) ?? this.#create(key, windowMs)
    count.addEvent()
    return count
  }

  /** Returns the count of the key in the current window, or null if nothing was added to it. */
  find(key: string, windowMs: number): WindowCount | null {
    const count = this.#counts.get(key)
    return count?.window === getWindow(windowMs) ? count : null
  }

  #create(key: string, windowMs: number): WindowCount {
    const count = new WindowCount(this.#options, key, windowMs)
    this.#counts.set(key, count)
    return count
  }
}

/**
 * An event that this process counts is in exactly one of four states: unsent, in flight, in the
 * total of Redis, or failed. Redis may have added a failed event although its answer came too late,
 * and then counts it twice. If every attempt sent it again, Redis would count it many times. So a
 * failed event becomes unsent only after the next success.
 */
export class WindowCount {
  readonly window: number
  /** The end of the window, as Date.now() returns it. */
  readonly endsAt: number
  readonly #options: CountOptions
  readonly #key: string
  readonly #windowMs: number
  #unsent = 0
  #hasAskedRedis = false
  /** The total of all processes, as Redis last returned it. */
  #lastRedisTotal = 0
  /** The number of events that are being added in Redis. */
  #inFlight = 0
  /** The number of events that could not be added. They wait until `sendToRedis` succeeds. */
  #failed = 0

  constructor(options: CountOptions, key: string, windowMs: number) {
    this.#options = options
    this.#key = key
    this.#windowMs = windowMs
    this.window = getWindow(windowMs)
    this.endsAt = (this.window + 1) * windowMs
  }

  addEvent(): void {
    this.#unsent += 1
  }

  /** The number of events that this process has counted and not yet sent to Redis. */
  get unsent(): number {
    return this.#unsent
  }

  /**
   * True once any `sendToRedis` has ended, whether Redis answered or failed. So an outage of Redis
   * does not delay every request.
   */
  get hasAskedRedis(): boolean {
    return this.#hasAskedRedis
  }

  /** The count of all processes, as far as known. */
  get knownTotal(): number {
    return this.#lastRedisTotal + this.#inFlight + this.#unsent + this.#failed
  }

  /**
   * Adds what is unsent to the total in Redis and returns the new total. Without Redis, returns
   * `knownTotal`. Rejects only because of a defect: if Redis fails, OptionalRedis returns null.
   */
  async sendToRedis(): Promise<number> {
    // The numbers that this method returns do not contain later requests. Two requests at once with
    // a limit of 1 could otherwise both get 2, and both would be rejected.
    const { knownTotal } = this
    const sent = this.#unsent
    this.#unsent = 0
    this.#inFlight += sent
    try {
      const redisTotal = await this.#addInRedis(sent)
      if (redisTotal === null) {
        this.#failed += sent
        return knownTotal
      }
      this.#lastRedisTotal = Math.max(this.#lastRedisTotal, redisTotal)
      const failed = this.#failed
      this.#unsent += failed
      this.#failed = 0
      return redisTotal + failed
    } finally {
      this.#inFlight -= sent
      this.#hasAskedRedis = true
    }
  }

  /** Returns the new total. Returns null if Redis fails now or failed within the last second. */
  async #addInRedis(number: number): Promise<number | null> {
    const { redis, buildRedisKey } = this.#options
    const redisKey = buildRedisKey(this.#key, this.window)
    const results = await redis.run(redisCommandTimeout.ms, (client) =>
      executeAll(
        client
          .pipeline()
          .incrby(redisKey, number)
          .pexpire(redisKey, 2 * this.#windowMs),
      ),
    )
    return results && Number(results[0])
  }
}

/** Returns the number of the current window. */
function getWindow(windowMs: number): number {
  return Math.floor(Date.now() / windowMs)
}
