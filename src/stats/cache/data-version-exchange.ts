// Shares readings of the data version between the API processes through Redis, so that together
// they read PostgreSQL about five times a second.
//
// In each exchange a process leaves a mark, the time on its own clock, and gets the newest
// published reading. The process that acquires the lock takes all marks, then reads PostgreSQL,
// then publishes the reading with the marks. A reading that comes back with a mark therefore began
// after that mark, so it contains every commit before it. src/redis/shared-reading.ts does this for
// any text.
import type { RedisAccess } from '../../redis/optional-redis.ts'
import { type ReadingLock, SharedReading } from '../../redis/shared-reading.ts'
import { timeouts } from '../../timeouts.ts'
import { computationVersion } from './computation-version.ts'
import type { DataVersionReading } from './data-version.ts'

/**
 * `reading` is what another process has read; its `readAt` is the mark that came with it. `lock` is
 * null if another process has it.
 */
export type ExchangeResult = { reading: DataVersionReading | null; lock: PollLock | null }

/** The holder of the lock reads PostgreSQL for all processes. */
export type PollLock = Omit<ReadingLock, 'publish'> & {
  /** Publishes the reading in the background, if another process awaits it. */
  publish(reading: DataVersionReading): void
}

export class DataVersionExchange {
  readonly #shared: SharedReading

  /**
   * Readings are shared only between processes with the same `computation`, because another version
   * of the code may count changes differently.
   */
  constructor(redis: RedisAccess | null, prefix: string, computation = computationVersion) {
    const { dataVersionLock, dataVersionRedis, maxAge, redisPause } = timeouts.stats
    this.#shared = new SharedReading(redis, `${prefix}stats-version:${computation}`, {
      lockMs: dataVersionLock.ms,
      maxAgeMs: maxAge.ms,
      responseMs: dataVersionRedis.ms,
      pauseMs: redisPause.ms,
    })
  }

  /**
   * Leaves a mark, and returns the newest reading that began after an earlier mark, if there is
   * one. With `mayLock`, also tries to acquire the lock. Only readings of the same database and
   * generation as `known` are exchanged. Returns null if Redis is unavailable.
   */
  async exchangeReadings(
    known: DataVersionReading,
    { mayLock }: { mayLock: boolean },
  ): Promise<ExchangeResult | null> {
    const { databaseId, version, wal } = known
    // Processes with a replica also need the WAL position, so they exchange among themselves.
    const scope = `${databaseId}:${version.generation}${wal ? `:${wal.timeline}` : ''}`
    const result = await this.#shared.exchange(scope, { mayLock })
    if (!result) return null
    const { reading, lock } = result
    return {
      reading: reading && parseReading(reading, known),
      lock: lock && createLock(lock, known),
    }
  }
}

function parseReading(
  { text, readAt }: { text: string; readAt: number },
  { databaseId, version, wal }: DataVersionReading,
): DataVersionReading | null {
  const [changes, position] = text
    .split(' ')
    .map((number) => (number ? Number(number) : Number.NaN))
  if (!Number.isSafeInteger(changes) || changes === undefined) return null
  const reading = { version: { ...version, changes }, databaseId, readAt }
  if (!wal) return reading
  if (!Number.isSafeInteger(position) || position === undefined) return null
  return { ...reading, wal: { ...wal, position } }
}

function createLock(lock: ReadingLock, known: DataVersionReading): PollLock {
  return {
    ...lock,
    publish: ({ databaseId, version, wal }) => {
      const isComparable =
        databaseId === known.databaseId &&
        version.generation === known.version.generation &&
        wal?.timeline === known.wal?.timeline
      if (isComparable) lock.publish([version.changes, ...(wal ? [wal.position] : [])].join(' '))
      else lock.release()
    },
  }
}
