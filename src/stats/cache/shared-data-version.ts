// Shares readings of the data version between the API processes through Redis, so that together
// they read PostgreSQL about five times a second.
//
// A process must know when a reading of another process began, without comparing clocks. Therefore
// each process regularly stores a mark: the time on its own clock. A process that is about to read
// PostgreSQL takes all marks, and publishes them with what it has read. A reading that comes with
// the mark of a process began after that process stored the mark. This holds for late, repeated and
// lost writes, and after a failover to an older state of Redis.
import { randomBytes } from 'node:crypto'
import { OptionalRedis, type RedisAccess } from '../../redis/optional-redis.ts'
import type { RedisClient } from '../../redis/redis-connection.ts'
import { timeouts } from '../../timeouts.ts'
import { computationVersion } from './computation-version.ts'
import type { DataVersionReading } from './data-version.ts'

/** `reading`: what another process has read since an earlier exchange. */
export type Exchange = { reading: DataVersionReading | null; lock: PollLock | null }

/**
 * The holder of the lock reads PostgreSQL for all processes. `acquiredAt` (performance.now): only a
 * reading that began afterwards may be published.
 */
export type PollLock = {
  acquiredAt: number
  /** Whether another process has left a mark. */
  isAwaited: boolean
  /** Publishes the reading in the background, if another process awaits it. */
  publish(reading: DataVersionReading): void
  /** Lets another process read at once. */
  release(): void
}

type Keys = { lock: string; marks: string; reading: string }

/** The field of the published reading beside the marks. No process has this id. */
const changesField = 'changes'

/**
 * Leaves a mark and reads the published reading. Whoever acquires the lock also takes all marks, so
 * that no mark of a dead process stays. One script instead of six commands, because this runs ten
 * times a second in every process.
 */
const exchangeScript = `
  local lock, marks, reading = unpack(KEYS)
  local processId, mark, marksMs, lockMs = unpack(ARGV)
  redis.call('HSET', marks, processId, mark)
  redis.call('PEXPIRE', marks, marksMs)
  local published = redis.call('HMGET', reading, '${changesField}', processId)
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

export class SharedDataVersion {
  readonly #redis: OptionalRedis
  readonly #prefix: string
  readonly #processId = randomBytes(12).toString('base64url')

  /**
   * Readings are shared only between processes with the same `computation`, because another version
   * of the code may count changes differently.
   */
  constructor(redis: RedisAccess | null, prefix: string, computation = computationVersion) {
    this.#redis = new OptionalRedis(redis, timeouts.stats.redisPause.ms)
    this.#prefix = `${prefix}stats-version:${computation}`
  }

  /**
   * Leaves a mark and returns the newest reading that began after an earlier mark, if there is one.
   * With `mayLock`, also tries to acquire the lock. Only readings of the same database and
   * generation as `known` are exchanged. Returns null if Redis is unavailable.
   */
  async exchange(
    known: DataVersionReading,
    { mayLock }: { mayLock: boolean },
  ): Promise<Exchange | null> {
    const keys = this.#keysOf(known)
    const timeoutMs = timeouts.stats.dataVersionRedis.ms
    const results = await this.#redis.run(timeoutMs, (redis) =>
      this.#exchange(redis, keys, mayLock),
    )
    if (!results) return null
    const [published, marks] = results
    const reading = this.#parseReading(published, known)
    return { reading, lock: marks ? this.#createLock(keys, known, marks) : null }
  }

  #exchange(redis: RedisClient, keys: Keys, mayLock: boolean): Promise<ExchangeReply> {
    const { maxAge, dataVersionLock } = timeouts.stats
    const lockMs = mayLock ? dataVersionLock.ms : 0
    return redis.eval(
      exchangeScript,
      3,
      keys.lock,
      keys.marks,
      keys.reading,
      this.#processId,
      performance.now(),
      maxAge.ms,
      lockMs,
    ) as Promise<ExchangeReply>
  }

  /** Returns null unless the published reading has a mark of this process. */
  #parseReading(
    published: (string | null)[],
    known: DataVersionReading,
  ): DataVersionReading | null {
    const [changes, mark] = published.map((text) =>
      text === null || text === '' ? Number.NaN : Number(text),
    )
    if (!Number.isSafeInteger(changes) || changes === undefined) return null
    if (mark === undefined || !(mark <= performance.now())) return null
    const { databaseId, version } = known
    return { version: { ...version, changes }, databaseId, readAt: mark }
  }

  #createLock(keys: Keys, known: DataVersionReading, marks: string[]): PollLock {
    const release = () => this.#redis.write((redis) => redis.del(keys.lock))
    // Names and values, of which two are the own mark.
    const isAwaited = marks.length > 2
    return {
      acquiredAt: performance.now(),
      isAwaited,
      publish: ({ databaseId, version }) => {
        const isComparable =
          databaseId === known.databaseId && version.generation === known.version.generation
        if (!isComparable) return release()
        if (!isAwaited) return
        const fields = [...marks, changesField, version.changes]
        this.#redis.write((redis) =>
          redis.eval(publishScript, 1, keys.reading, timeouts.stats.maxAge.ms, ...fields),
        )
      },
      release,
    }
  }

  #keysOf({ databaseId, version }: DataVersionReading): Keys {
    // In a cluster, the keys of a script must be on one node: that of the text in braces.
    const prefix = `${this.#prefix}:{${databaseId}:${version.generation}}`
    return { lock: `${prefix}:lock`, marks: `${prefix}:marks`, reading: `${prefix}:reading` }
  }
}
