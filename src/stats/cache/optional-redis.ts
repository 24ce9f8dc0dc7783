// Best-effort access to Redis for the statistics: a failure is not thrown, and rarely waited for.
import type { Redis } from 'ioredis'
import pTimeout from 'p-timeout'
import { timeouts } from '../../timeouts.ts'

export class OptionalRedis {
  readonly #redis: Redis | null
  #pausedUntil = 0

  /** null: no Redis is configured. */
  constructor(redis: Redis | null) {
    this.#redis = redis
  }

  /**
   * Returns the result of `send`. Returns null without Redis, if it fails, if it does not respond
   * within `timeoutMs`, and for a pause after such a failure.
   */
  async run<Result>(
    timeoutMs: number,
    send: (redis: Redis) => Promise<Result>,
  ): Promise<Result | null> {
    if (!this.#redis || performance.now() < this.#pausedUntil) return null
    try {
      return await pTimeout(send(this.#redis), { milliseconds: timeoutMs })
    } catch {
      // Not logged: redis-outage-log.ts logs outages of Redis.
      this.#pausedUntil = performance.now() + timeouts.stats.redisPause.ms
      return null
    }
  }

  /** Runs `send` in the background, also during a pause. */
  write(send: (redis: Redis) => Promise<unknown>): void {
    // Not logged: redis-outage-log.ts logs outages of Redis.
    if (this.#redis) send(this.#redis).catch(() => undefined)
  }
}
