// Shares the observed data version between the API processes through Redis, so that together they
// read PostgreSQL about five times a second. src/redis/shared-polling.ts explains how a process
// knows that a shared version is recent enough.
import type { RedisAccess } from '../../redis/optional-redis.ts'
import { type PollLock, SharedPolling } from '../../redis/shared-polling.ts'
import { timeouts } from '../../timeouts.ts'
import { codeHash } from './code-hash.ts'
import type { ObservedVersion } from './data-version.ts'

/**
 * `observed` is what another process has read, and null if there is nothing new. `lock` is null if
 * another process has it.
 */
export type VersionPollResult = { observed: ObservedVersion | null; lock: VersionPollLock | null }

/** The holder of the lock reads PostgreSQL for all processes. */
export type VersionPollLock = Omit<PollLock, 'publish'> & {
  /** Publishes the version in the background, if another process awaits it. */
  publish(observed: ObservedVersion): void
}

export class SharedDataVersion {
  readonly #polling: SharedPolling

  /**
   * Only processes with the same `code` share versions, because another release may count changes
   * differently.
   */
  constructor(redis: RedisAccess | null, prefix: string, code = codeHash) {
    const { redisVersionLock, redisVersionResponse, maxAge, redisPause } = timeouts.stats
    this.#polling = new SharedPolling(redis, `${prefix}stats-version:${code}`, {
      lockMs: redisVersionLock.ms,
      maxAgeMs: maxAge.ms,
      responseMs: redisVersionResponse.ms,
      pauseMs: redisPause.ms,
    })
  }

  /**
   * Returns the newest version that another process has read since an earlier poll of this process,
   * if there is one. With `mayLock`, also tries to acquire the lock. Only processes that know the
   * same database and generation share versions. Returns null if Redis is unavailable.
   */
  async poll(
    known: ObservedVersion,
    { mayLock }: { mayLock: boolean },
  ): Promise<VersionPollResult | null> {
    const { databaseId, version, wal } = known
    // Processes with a replica also need the WAL position, so they share only among themselves.
    const scope = `${databaseId}:${version.generation}${wal ? `:${wal.timeline}` : ''}`
    const result = await this.#polling.poll(scope, { mayLock })
    if (!result) return null
    const { published, lock } = result
    return {
      observed: published && parseVersion(published, known),
      lock: lock && toVersionLock(lock, known),
    }
  }
}

function parseVersion(
  { text, readAt }: { text: string; readAt: number },
  { databaseId, version, wal }: ObservedVersion,
): ObservedVersion | null {
  const [changeCount, position] = text
    .split(' ')
    .map((number) => (number ? Number(number) : Number.NaN))
  if (!Number.isSafeInteger(changeCount) || changeCount === undefined) return null
  const observed = { version: { ...version, changeCount }, databaseId, readAt }
  if (!wal) return observed
  if (!Number.isSafeInteger(position) || position === undefined) return null
  return { ...observed, wal: { ...wal, position } }
}

function toVersionLock(lock: PollLock, known: ObservedVersion): VersionPollLock {
  return {
    ...lock,
    publish: ({ databaseId, version, wal }) => {
      const hasSameScope =
        databaseId === known.databaseId &&
        version.generation === known.version.generation &&
        wal?.timeline === known.wal?.timeline
      if (hasSameScope)
        lock.publish([version.changeCount, ...(wal ? [wal.position] : [])].join(' '))
      else lock.release()
    },
  }
}
