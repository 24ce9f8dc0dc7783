// What the API processes write to Redis to share the observed data version, so that together they
// read PostgreSQL about as often as one alone. src/redis/shared-polling.ts explains how a process
// knows that a shared version is recent enough.
import type { RedisAccess } from '../../redis/optional-redis.ts'
import { type PublishedValue, SharedPolling } from '../../redis/shared-polling.ts'
import type { DataVersion } from '../summary/data-version.ts'
import { codeHash } from './code-hash.ts'
import type { Moment } from './moments.ts'

// A committed change must be visible within two seconds.
export const maxAgeMs = 2_000
// Requests must not wait for Redis one after another during an outage.
export const redisPauseMs = 1_000
// All processes together read it about five times a second.
const redisVersionLockMs = 180
// Reading PostgreSQL takes less time than a slow Redis.
const redisVersionResponseMs = 100

/**
 * A data version, and where and when it was read. `readAt` is a moment before the query was sent,
 * so the version contains every commit before it. `databaseId` identifies the database.
 * `walPosition` is at or after every change of the version. It has a meaning only in its timeline,
 * which is null while the server is in recovery.
 */
export type ObservedVersion = {
  version: DataVersion
  databaseId: string
  readAt: Moment
  timeline: number | null
  walPosition: number
}

/**
 * Returns what processes need to share versions. Only processes with the same `code` share them,
 * because another release may count changes differently.
 */
export function shareDataVersions(
  redis: RedisAccess | null,
  prefix: string,
  code = codeHash,
): SharedPolling {
  return new SharedPolling(redis, `${prefix}stats-version:${code}`, {
    lockMs: redisVersionLockMs,
    maxAgeMs: maxAgeMs,
    responseMs: redisVersionResponseMs,
    pauseMs: redisPauseMs,
  })
}

/**
 * Returns the scope of `SharedPolling`: only processes that know the same database, generation and
 * timeline share versions.
 */
export function scopeOf({ databaseId, version, timeline }: ObservedVersion): string {
  return `${databaseId}:${version.generation}:${timeline}`
}

/** Returns the text that processes with the same scope share. */
export function formatVersion({ version, walPosition }: ObservedVersion): string {
  return `${version.changeCount} ${walPosition}`
}

/** Returns the version that was published in the scope of `known`, or null if it is invalid. */
export function parseVersion(
  { text, readAt }: PublishedValue,
  known: ObservedVersion,
): ObservedVersion | null {
  const [, changeCount, walPosition] = /^(\d+) (\d+)$/.exec(text) ?? []
  if (changeCount === undefined || walPosition === undefined) return null
  const version = { ...known.version, changeCount: Number(changeCount) }
  return { ...known, version, readAt, walPosition: Number(walPosition) }
}
