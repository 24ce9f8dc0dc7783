// Limits failed attempts: how often one address may try unknown API keys or quote links.
import { LRUCache } from 'lru-cache'
import { getCountedAddress } from '../http/client-address.ts'
import type { Problem } from '../http/problem-details.ts'
import { executeAll, OptionalRedis, type RedisAccess } from '../redis/optional-redis.ts'
import { timeouts } from '../timeouts.ts'
import { createRateProblem, rateWindowsMs } from './request-rate-limits.ts'

type FailedAttemptOptions = {
  /** Null: each process counts on its own. */
  redis: RedisAccess | null
  /** The prefix of every key of this installation in Redis. */
  redisPrefix: string
  /** What is attempted, as the message to the caller names it. Each kind has its own counts. */
  kind: 'keys' | 'links'
  /** For each client address. */
  maxPerMinute: number
}

/** The caller. Its address is undefined if it has disconnected (src/http/client-address.ts). */
type Caller = { ip: string | undefined }

const windowMs = rateWindowsMs.minute
/** Above this number, the count of the address whose last attempt is longest ago is dropped. */
export const maxCountedAddresses = 100_000

/**
 * Counts failed attempts per client address in windows of a minute. A failed attempt is a request
 * with an unknown API key or an unknown quote link. The settings call it a guess
 * (`CALLER_GUESS_LIMIT_PER_MINUTE`, `LINK_GUESS_LIMIT_PER_MINUTE`).
 *
 * With Redis all processes share the counts. A process reads the shared count of an address only
 * when it counts an attempt itself. So each process accepts at most one attempt too many. Without
 * Redis each process counts on its own.
 */
export class FailedAttemptLimit {
  readonly #options: FailedAttemptOptions
  readonly #redis: OptionalRedis
  // Not `max`, which would reserve the memory for all addresses at the start.
  readonly #counts = new LRUCache<string, number>({
    maxSize: maxCountedAddresses,
    sizeCalculation: () => 1,
  })
  #window = 0

  constructor(options: FailedAttemptOptions) {
    this.#options = options
    this.#redis = new OptionalRedis(options.redis, timeouts.rateLimits.redisPause.ms)
  }

  /** Throws a 429 problem if the address has used up its attempts. */
  rejectIfExceeded({ ip }: Caller): void {
    this.#startWindow()
    const count = this.#getCount(getCountedAddress(ip))
    if (count >= this.#options.maxPerMinute) throw this.#createProblem()
  }

  /** Counts a failed attempt. Throws a 429 problem if it exceeds the limit. */
  async recordAttemptOrReject({ ip }: Caller): Promise<void> {
    const address = getCountedAddress(ip)
    const window = this.#startWindow()
    this.#counts.set(address, this.#getCount(address) + 1)
    const sharedCount = await this.#countInRedis(window, address)
    if (window === this.#window)
      this.#counts.set(address, Math.max(this.#getCount(address), sharedCount))
    if (this.#getCount(address) > this.#options.maxPerMinute) throw this.#createProblem()
  }

  #getCount(address: string): number {
    return this.#counts.get(address) ?? 0
  }

  /** Returns the current window. Clears the counts if a new one starts. */
  #startWindow(): number {
    const window = Math.floor(Date.now() / windowMs)
    if (window !== this.#window) this.#counts.clear()
    this.#window = window
    return window
  }

  #createProblem(): Problem {
    const { kind, maxPerMinute } = this.#options
    return createRateProblem(
      `Too many unknown ${kind} from your address: the limit is ${maxPerMinute} per minute.`,
      (this.#window + 1) * windowMs - Date.now(),
      'too many failed attempts',
    )
  }

  /** Returns the number of failed attempts in all processes, or 0 without Redis. */
  async #countInRedis(window: number, address: string): Promise<number> {
    const { redisPrefix, kind } = this.#options
    // Named as in the settings (CALLER_GUESS_LIMIT_PER_MINUTE). During an upgrade, processes of the
    // older release share the counts of keys under this name.
    const key = `${redisPrefix}${kind}:guesses:${window}:${address}`
    const results = await this.#redis.run(timeouts.redis.command.ms, (redis) =>
      executeAll(redis.multi().incr(key).pexpire(key, windowMs)),
    )
    return Number(results?.[0] ?? 0)
  }
}
