// What the API processes write to Redis to share the observed data version, so that together they
// read PostgreSQL about five times a second. src/redis/shared-polling.ts explains how a process
// knows that a shared version is recent enough.
import type { RedisAccess } from '../../redis/optional-redis.ts'
import { type PublishedValue, SharedPolling } from '../../redis/shared-polling.ts'
import { timeouts } from '../../timeouts.ts'
import { codeHash } from './code-hash.ts'
import type { ObservedVersion } from './data-version.ts'

/**
 * Returns what processes need to share versions. Only processes with the same `code` share them,
 * because another release may count changes differently.
 */
export function shareDataVersions(
  redis: RedisAccess | null,
  prefix: string,
  code = codeHash,
): SharedPolling {
  const { redisVersionLock, redisVersionResponse, maxAge, redisPause } = timeouts.stats
  return new SharedPolling(redis, `${prefix}stats-version:${code}`, {
    lockMs: redisVersionLock.ms,
    maxAgeMs: maxAge.ms,
    responseMs: redisVersionResponse.ms,
    pauseMs: redisPause.ms,
  })
}

/**
 * Returns the scope of `SharedPolling`: only processes that know the same database and generation
 * share versions. Those with a replica also need the WAL position, so they share among themselves.
 * A position has a meaning only in its timeline, so the timeline is part of their scope.
 */
export function scopeOf({ databaseId, version, wal }: ObservedVersion): string {
  return `${databaseId}:${version.generation}${wal ? `:${wal.timeline}` : ''}`
}

/** Returns the text that processes with the same scope share. */
export function formatVersion({ version, wal }: ObservedVersion): string {
  return [version.changeCount, ...(wal ? [wal.position] : [])].join(' ')
}

/** Returns the version that was published in the scope of `known`, or null if it is invalid. */
export function parseVersion(
  { text, readAt }: PublishedValue,
  { databaseId, version, wal }: ObservedVersion,
): ObservedVersion | null {
  const [changeCount = Number.NaN, position = Number.NaN] = text
    .split(' ')
    .map((number) => (number ? Number(number) : Number.NaN))
  if (!Number.isSafeInteger(changeCount)) return null
  const observed = { version: { ...version, changeCount }, databaseId, readAt }
  if (!wal) return observed
  return Number.isSafeInteger(position) ? { ...observed, wal: { ...wal, position } } : null
}
