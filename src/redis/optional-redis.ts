// Best-effort access to Redis: a failure is never thrown, and rarely waited for.
import type { ChainableCommander } from 'ioredis'
import pTimeout from 'p-timeout'
import { FailureLog } from '../monitoring/log/failure-log.ts'
import type { RedisClient } from './redis-connection.ts'

// A replica refuses writes and answers reads. The log would change with each of them.
export const redisRecovery = { ms: 10_000 }

/** The connection, and the log of its failures. */
export type RedisAccess = { client: RedisClient; failures: FailureLog }

type Log = { warn(text: string): void; info(text: string): void }

/**
 * Returns access that logs once per cause that Redis is unreachable or refuses commands, and that
 * it works again. The service works without Redis, so nothing else would show the outage.
 */
export function observeRedis(client: RedisClient, log: Log): RedisAccess {
  const failures = new FailureLog(
    { error: (text) => log.warn(text), info: (text) => log.info(text) },
    {
      failure: (cause) =>
        `Redis is unreachable (${cause}): each process caches and limits on its own`,
      recovery: 'Redis is reachable again: caches and limits are shared',
    },
    { quietTime: redisRecovery },
  )
  client.on('error', (error) => failures.logFailure(getRefusal(error) ?? getCause(error)))
  return { client, failures }
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
      this.#pausedUntil = performance.now() + this.#pauseMs
      return null
    }
  }

  /** Runs `send` in the background, also during a pause. */
  write(send: (redis: RedisClient) => Promise<unknown>): void {
    if (this.#access) this.#report(send(this.#access.client)).catch(() => undefined)
  }

  /** Logs refusals. The connection reports its own errors, and a slow reply is no outage. */
  async #report<Result>(result: Promise<Result>): Promise<Result> {
    const failures = this.#access?.failures
    try {
      const value = await result
      failures?.logSuccess()
      return value
    } catch (error) {
      const refusal = getRefusal(error)
      if (refusal) failures?.logFailure(refusal)
      throw error
    }
  }
}

/** The error of a transaction, and of a cluster, says only that others failed before. */
type OuterError = { previousErrors?: unknown[]; lastNodeError?: unknown }

/** Returns the error that led to this one, or this one. */
function getCause(error: unknown): unknown {
  const { previousErrors = [], lastNodeError } = (error ?? {}) as OuterError
  return previousErrors[0] ?? lastNodeError ?? error
}

/**
 * Returns an error with the code of a reply in which Redis refuses a command, otherwise null. The
 * log must not have the rest of the reply, which may contain addresses of clients.
 */
function getRefusal(outerError: unknown): Error | null {
  const error = getCause(outerError)
  if (!(error instanceof Error) || error.name !== 'ReplyError') return null
  const [code = ''] = error.message.split(' ')
  return new Error(/^[A-Z]{2,20}$/.test(code) ? code : 'ERR')
}

/** Returns the results of the commands. Rejects with the first error of one of them. */
export async function executeAll(commands: ChainableCommander): Promise<unknown[]> {
  const replies = (await commands.exec()) ?? []
  return replies.map(([error, result]) => {
    if (error) throw error
    return result
  })
}
