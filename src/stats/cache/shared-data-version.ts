// Shares readings of the data version between the API processes through Redis, so that together
// they read PostgreSQL about five times a second.
//
// A process must know when a reading of another process began, without comparing clocks. Therefore
// each process regularly leaves a mark: the time on its own clock. A process that is about to read
// PostgreSQL takes all marks, and publishes them with what it has read. A reading that comes with
// the mark of a process began after that process left the mark. This holds for late, repeated and
// lost writes, and after a failover to an older state of Redis.
import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import { timeouts } from '../../timeouts.ts'
import { computationVersion } from './computation-version.ts'
import type { DataVersionReading } from './data-version.ts'
import { execute, OptionalRedis } from './optional-redis.ts'

/** `reading`: what another process has read since an earlier exchange. */
export type Exchange = { reading: DataVersionReading | null; lock: PollLock | null }

/**
 * The holder of the lock reads PostgreSQL for all processes. `acquiredAt` (performance.now): only a
 * reading that began afterwards may be published.
 */
export type PollLock = {
  acquiredAt: number
  /** Publishes the reading in the background. */
  publish(reading: DataVersionReading): void
  /** Lets another process read at once. */
  release(): void
}

type Keys = { lock: string; marks: string; reading: string }

/** The field of the published reading beside the marks. No process has this id. */
const changesField = 'changes'

export class SharedDataVersion {
  readonly #redis: OptionalRedis
  readonly #prefix: string
  readonly #processId = randomBytes(12).toString('base64url')

  /**
   * Readings are shared only between processes with the same `computation`, because another version
   * of the code may count changes differently.
   */
  constructor(redis: Redis | null, prefix: string, computation = computationVersion) {
    this.#redis = new OptionalRedis(redis)
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
    const results = await this.#redis.run(timeoutMs, (redis) => this.#mark(redis, keys, mayLock))
    if (!results) return null
    const [, , published, isLocked] = results
    const exchange = { reading: this.#parseReading(published, known), lock: null }
    if (!isLocked) return exchange
    const marks = await this.#redis.run(timeoutMs, (redis) => takeMarks(redis, keys))
    return marks && { ...exchange, lock: this.#createLock(keys, known, marks) }
  }

  #mark(redis: Redis, keys: Keys, mayLock: boolean): Promise<unknown[]> {
    const { maxAge, dataVersionLock } = timeouts.stats
    const commands = redis
      .pipeline()
      .hset(keys.marks, this.#processId, performance.now())
      .pexpire(keys.marks, maxAge.ms)
      .hmget(keys.reading, changesField, this.#processId)
    if (mayLock) commands.set(keys.lock, this.#processId, 'PX', dataVersionLock.ms, 'NX')
    return execute(commands)
  }

  /** Returns null unless the published reading has a mark of this process. */
  #parseReading(published: unknown, known: DataVersionReading): DataVersionReading | null {
    const [changes, mark] = (published as (string | null)[]).map((text) =>
      text === null || text === '' ? Number.NaN : Number(text),
    )
    if (!Number.isSafeInteger(changes) || changes === undefined) return null
    if (mark === undefined || !(mark <= performance.now())) return null
    const { databaseId, version } = known
    return { version: { ...version, changes }, databaseId, readAt: mark }
  }

  #createLock(keys: Keys, known: DataVersionReading, marks: Record<string, string>): PollLock {
    const release = () => this.#redis.write((redis) => redis.del(keys.lock))
    return {
      acquiredAt: performance.now(),
      publish: ({ databaseId, version }) => {
        const isComparable =
          databaseId === known.databaseId && version.generation === known.version.generation
        if (!isComparable) return release()
        this.#redis.write((redis) =>
          redis
            .multi()
            .del(keys.reading)
            .hset(keys.reading, { ...marks, [changesField]: version.changes })
            .pexpire(keys.reading, timeouts.stats.maxAge.ms)
            .exec(),
        )
      },
      release,
    }
  }

  #keysOf({ databaseId, version }: DataVersionReading): Keys {
    const prefix = `${this.#prefix}:${databaseId}:${version.generation}`
    return { lock: `${prefix}:lock`, marks: `${prefix}:marks`, reading: `${prefix}:reading` }
  }
}

/** Returns the marks of all processes and deletes them, so that no mark of a dead process stays. */
async function takeMarks(redis: Redis, keys: Keys): Promise<Record<string, string>> {
  const [marks] = await execute(redis.multi().hgetall(keys.marks).del(keys.marks))
  return marks as Record<string, string>
}
