// Lets the API processes poll PostgreSQL together: one of them reads, and the others get its result
// through Redis.
//
// A process may use the result of another process only if it knows when that read began, without
// comparing clocks. Therefore each poll stores a request time: the time on the clock of the process
// that polls. A process that is about to read PostgreSQL takes all request times, and publishes
// them with the result. If a result comes with a request time of this process, the read began after
// that time. This holds for late, repeated and lost writes, and after a failover to an older state
// of Redis.
import { randomBytes } from 'node:crypto'
import { OptionalRedis, type RedisAccess } from './optional-redis.ts'
import type { RedisClient } from './redis-connection.ts'

/** What another process has read from PostgreSQL, at `readAt` (performance.now) or later. */
export type PublishedValue = { text: string; readAt: number }

/**
 * `published` is null unless there is a value that this process has seen requested. It may be the
 * value of the poll before.
 * `lock` is null if another process has it.
 */
export type PollResult = { published: PublishedValue | null; lock: PollLock | null }

/**
 * The holder of the lock reads PostgreSQL for all processes. It may publish only what it began to
 * read after `acquiredAt` (performance.now).
 */
export type PollLock = {
  acquiredAt: number
  /** Whether another process polls too. */
  isAwaited: boolean
  /** Publishes the text in the background, if another process awaits it. */
  publish(text: string): void
  /** Lets another process read at once. */
  release(): void
}

type SharedPollTimes = {
  /** The time for which one process reads for all. */
  lockMs: number
  /** The age up to which a published value is of use. */
  maxAgeMs: number
  /** The time that Redis has to respond. */
  responseMs: number
  /** The pause after Redis has failed. */
  pauseMs: number
}

type Keys = { lock: string; requestTimes: string; published: string }

/** The field with the published text, beside the request times. No process has this id. */
const textField = 'text'

/**
 * Stores a request time and reads what is published. A process that acquires the lock also takes
 * all request times, so that those of dead processes do not stay. It is one script instead of six
 * commands, because it runs about ten times a second in every process.
 */
const pollScript = `
  local lock, requestTimes, published = unpack(KEYS)
  local processId, requestTime, requestTimesMs, lockMs = unpack(ARGV)
  redis.call('HSET', requestTimes, processId, requestTime)
  redis.call('PEXPIRE', requestTimes, requestTimesMs)
  local found = redis.call('HMGET', published, '${textField}', processId)
  if lockMs == '0' or not redis.call('SET', lock, processId, 'PX', lockMs, 'NX') then
    return { found }
  end
  local taken = redis.call('HGETALL', requestTimes)
  redis.call('DEL', requestTimes)
  return { found, taken }`

/**
 * The published text and the request time of this process. With the lock, also the request times of
 * all processes: ids and times in turn.
 */
type PollReply = [found: (string | null)[], requestTimes?: string[]]

const publishScript = `
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], unpack(ARGV, 2))
  redis.call('PEXPIRE', KEYS[1], ARGV[1])`

export class SharedPolling {
  readonly #redis: OptionalRedis
  readonly #prefix: string
  readonly #times: SharedPollTimes
  readonly #processId = randomBytes(12).toString('base64url')

  /** Processes with the same `prefix` poll together. Without Redis, `poll` returns null. */
  constructor(redis: RedisAccess | null, prefix: string, times: SharedPollTimes) {
    this.#redis = new OptionalRedis(redis, times.pauseMs)
    this.#prefix = prefix
    this.#times = times
  }

  /**
   * Stores a request time, and returns the newest published value that was read after an earlier
   * request time of this process. With `mayLock`, also tries to acquire the lock. Only processes
   * with the same `scope` share values: it identifies the database. Returns null if Redis is
   * unavailable.
   */
  async poll(scope: string, { mayLock }: { mayLock: boolean }): Promise<PollResult | null> {
    const keys = this.#keysOf(scope)
    const reply = await this.#redis.run(this.#times.responseMs, (redis) =>
      this.#runPollScript(redis, keys, mayLock),
    )
    if (!reply) return null
    const [found, requestTimes] = reply
    return {
      published: parsePublished(found),
      lock: requestTimes ? this.#createLock(keys, requestTimes) : null,
    }
  }

  #runPollScript(redis: RedisClient, keys: Keys, mayLock: boolean): Promise<PollReply> {
    return redis.eval(
      pollScript,
      3,
      keys.lock,
      keys.requestTimes,
      keys.published,
      this.#processId,
      performance.now(),
      this.#times.maxAgeMs,
      mayLock ? this.#times.lockMs : 0,
    ) as Promise<PollReply>
  }

  #createLock(keys: Keys, requestTimes: string[]): PollLock {
    // The first id and time are those of this process, if no other process polls.
    const isAwaited = requestTimes.length > 2
    return {
      acquiredAt: performance.now(),
      isAwaited,
      publish: (text) => {
        if (!isAwaited) return
        const { maxAgeMs } = this.#times
        this.#redis.write((redis) =>
          redis.eval(publishScript, 1, keys.published, maxAgeMs, ...requestTimes, textField, text),
        )
      },
      release: () => this.#redis.write((redis) => redis.del(keys.lock)),
    }
  }

  #keysOf(scope: string): Keys {
    // In a cluster, the keys of a script must be on one node: that of the text in braces.
    const prefix = `${this.#prefix}:{${scope}}`
    return {
      lock: `${prefix}:lock`,
      requestTimes: `${prefix}:request-times`,
      published: `${prefix}:published`,
    }
  }
}

/** Returns null unless the published value comes with a request time of this process. */
function parsePublished([text, requestTime]: (string | null)[]): PublishedValue | null {
  if (typeof text !== 'string' || typeof requestTime !== 'string' || requestTime === '') return null
  const readAt = Number(requestTime)
  return readAt <= performance.now() ? { text, readAt } : null
}
