// Best-effort access to Redis: a failure is never thrown, and rarely waited for.
import type { ChainableCommander } from 'ioredis'
import pTimeout from 'p-timeout'
import type { RedisClient } from './redis-connection.ts'

/** The connection, and who is told how commands end. */
export type RedisAccess = {
  client: RedisClient
  outages: { commandSucceeded(): void; commandFailed(error: unknown): void }
}

export class OptionalRedis {
  readonly #access: RedisAccess | null
  readonly #pauseMs: number
  #pausedUntil = 0

  /** null: no Redis is configured. After a failure, Redis is not used for a pause. */
  constructor(access: RedisAccess | null, pauseMs: number) {
    this.#access = access
    this.#pauseMs = pauseMs
  }

  /**
   * Returns the result of `send`. Returns null without Redis, if it fails, if it does not respond
   * within `timeoutMs`, and for a pause after such a failure.
   */
  async run<Result>(
    timeoutMs: number,
    send: (redis: RedisClient) => Promise<Result>,
  ): Promise<Result | null> {
    if (!this.#access || performance.now() < this.#pausedUntil) return null
    try {
      const { client } = this.#access
      return await this.#report(pTimeout(send(client), { milliseconds: timeoutMs }))
    } catch {
      // `outages` has logged or counted the failure.
      this.#pausedUntil = performance.now() + this.#pauseMs
      return null
    }
  }

  /** Runs `send` in the background, also during a pause. */
  write(send: (redis: RedisClient) => Promise<unknown>): void {
    // `outages` has logged or counted the failure.
    if (this.#access) this.#report(send(this.#access.client)).catch(() => undefined)
  }

  async #report<Result>(result: Promise<Result>): Promise<Result> {
    const outages = this.#access?.outages
    try {
      const value = await result
      outages?.commandSucceeded()
      return value
    } catch (error) {
      outages?.commandFailed(error)
      throw error
    }
  }
}

/** Returns the results of the commands. Rejects with the first error of one of them. */
export async function executeAll(commands: ChainableCommander): Promise<unknown[]> {
  const replies = (await commands.exec()) ?? []
  return replies.map(([error, result]) => {
    if (error) throw error
    return result
  })
}
