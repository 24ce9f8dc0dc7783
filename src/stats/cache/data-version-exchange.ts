// Shares readings of the data version between the API processes through Redis, so that together
// they read PostgreSQL about five times a second.
import type { RedisAccess } from '../../redis/optional-redis.ts'
import { type ReadingLock, SharedReading } from '../../redis/shared-reading.ts'
import { timeouts } from '../../timeouts.ts'
import { computationVersion } from './computation-version.ts'
import type { DataVersionReading } from './data-version.ts'

/** `reading`: what another process has read since an earlier exchange. */
export type Exchange = { reading: DataVersionReading | null; lock: PollLock | null }

/** The holder of the lock reads PostgreSQL for all processes. */
export type PollLock = Omit<ReadingLock, 'publish'> & {
  /** Publishes the reading in the background, if another process awaits it. */
  publish(reading: DataVersionReading): void
}

export class SharedDataVersion {
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
   * Returns the newest reading that began after an earlier exchange, if there is one. With
   * `mayLock`, also tries to acquire the lock. Only readings of the same database and generation as
   * `known` are exchanged. Returns null if Redis is unavailable.
   */
  async exchange(
    known: DataVersionReading,
    { mayLock }: { mayLock: boolean },
  ): Promise<Exchange | null> {
    const { databaseId, version, wal } = known
    // Processes with a replica need more of each reading than those without.
    const scope = `${databaseId}:${version.generation}${wal ? `:${wal.timeline}` : ''}`
    const exchange = await this.#shared.exchange(scope, { mayLock })
    if (!exchange) return null
    const { reading, lock } = exchange
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
