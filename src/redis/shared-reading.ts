// Shares readings of PostgreSQL between the API processes through Redis, so that one of them reads
// for all.
//
// A process must know when a reading of another process began, without comparing clocks. Therefore
// each process regularly stores a mark: the time on its own clock. A process that is about to read
// PostgreSQL takes all marks, and publishes them with what it has read. A reading that comes with
// the mark of a process began after that process stored the mark. This holds for late, repeated and
// lost writes, and after a failover to an older state of Redis.
import { randomBytes } from 'node:crypto'
import { OptionalRedis, type RedisAccess } from './optional-redis.ts'
import type { RedisClient } from './redis-connection.ts'

/** What another process has read, at `readAt` (performance.now) or later. */
export type OtherReading = { text: string; readAt: number }

export type Exchange = { reading: OtherReading | null; lock: ReadingLock | null }

/**
 * The holder of the lock reads PostgreSQL for all processes. `acquiredAt` (performance.now): only a
 * reading that began afterwards may be published.
 */
export type ReadingLock = {
  acquiredAt: number
  /** Whether another process has left a mark. */
  isAwaited: boolean
  /** Publishes the reading in the background, if another process awaits it. */
  publish(text: string): void
  /** Lets another process read at once. */
  release(): void
}

export type SharingTimes = {
  /** The time for which one process reads for all. */
  lockMs: number
  /** The age up to which a reading is of use. */
  maxAgeMs: number
  /** The wait for Redis, and the pause after it has failed. */
  responseMs: number
  pauseMs: number
}

type Keys = { lock: string; marks: string; reading: string }

/** The field of the published reading beside the marks. No process has this id. */
const textField = 'text'

/**
 * Leaves a mark and reads the published reading. Whoever acquires the lock also takes all marks, so
 * that no mark of a dead process stays. One script instead of six commands, because this runs about
 * ten times a second in every process.
 */
const exchangeScript = `
  local lock, marks, reading = unpack(KEYS)
  local processId, mark, marksMs, lockMs = unpack(ARGV)
  redis.call('HSET', marks, processId, mark)
  redis.call('PEXPIRE', marks, marksMs)
  local published = redis.call('HMGET', reading, '${textField}', processId)
  if lockMs == '0' or not redis.call('SET', lock, processId, 'PX', lockMs, 'NX') then
    return { published }
  end
  local taken = redis.call('HGETALL', marks)
  redis.call('DEL', marks)
  return { published, taken }`

/** The values of the published fields, and the marks, as names and values, with the lock. */
type ExchangeReply = [published: (string | null)[], marks?: string[]]

const publishScript = `
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], unpack(ARGV, 2))
  redis.call('PEXPIRE', KEYS[1], ARGV[1])`

export class SharedReading {
  readonly #redis: OptionalRedis
  readonly #prefix: string
  readonly #times: SharingTimes
  readonly #processId = randomBytes(12).toString('base64url')

  /** Readings are shared between processes with the same `prefix`. Without Redis, none are. */
  constructor(redis: RedisAccess | null, prefix: string, times: SharingTimes) {
    this.#redis = new OptionalRedis(redis, times.pauseMs)
    this.#prefix = prefix
    this.#times = times
  }

  /**
   * Leaves a mark and returns the newest reading that began after an earlier mark, if there is one.
   * With `mayLock`, also tries to acquire the lock. Only processes with the same `scope` exchange
   * readings: it identifies the database. Returns null if Redis is unavailable.
   */
  async exchange(scope: string, { mayLock }: { mayLock: boolean }): Promise<Exchange | null> {
    const keys = this.#keysOf(scope)
    const results = await this.#redis.run(this.#times.responseMs, (redis) =>
      this.#exchange(redis, keys, mayLock),
    )
    if (!results) return null
    const [published, marks] = results
    return { reading: parseReading(published), lock: marks ? this.#createLock(keys, marks) : null }
  }

  #exchange(redis: RedisClient, keys: Keys, mayLock: boolean): Promise<ExchangeReply> {
    return redis.eval(
      exchangeScript,
      3,
      keys.lock,
      keys.marks,
      keys.reading,
      this.#processId,
      performance.now(),
      this.#times.maxAgeMs,
      mayLock ? this.#times.lockMs : 0,
    ) as Promise<ExchangeReply>
  }

  #createLock(keys: Keys, marks: string[]): ReadingLock {
    // Names and values, of which two are the own mark.
    const isAwaited = marks.length > 2
    return {
      acquiredAt: performance.now(),
      isAwaited,
      publish: (text) => {
        if (!isAwaited) return
        const { maxAgeMs } = this.#times
        this.#redis.write((redis) =>
          redis.eval(publishScript, 1, keys.reading, maxAgeMs, ...marks, textField, text),
        )
      },
      release: () => this.#redis.write((redis) => redis.del(keys.lock)),
    }
  }

  #keysOf(scope: string): Keys {
    // In a cluster, the keys of a script must be on one node: that of the text in braces.
    const prefix = `${this.#prefix}:{${scope}}`
    return { lock: `${prefix}:lock`, marks: `${prefix}:marks`, reading: `${prefix}:reading` }
  }
}

/** Returns null unless the published reading has a mark of this process. */
function parseReading([text, markText]: (string | null)[]): OtherReading | null {
  if (typeof text !== 'string' || typeof markText !== 'string' || markText === '') return null
  const readAt = Number(markText)
  return readAt <= performance.now() ? { text, readAt } : null
}
