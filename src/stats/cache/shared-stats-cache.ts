// The cache of statistics in Redis, which all API processes share. If Redis fails, each process
// computes for itself: no request fails because of Redis or waits long for it.
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { OptionalRedis, type RedisAccess } from '../../redis/optional-redis.ts'
import type { StatsWithoutAsOf } from '../schema.ts'
import type { SummaryVersion } from '../summary/summary-state.ts'

// Requests must not wait for Redis one after another during an outage.
const redisPauseMs = 1_000
// Computing the statistics takes less time than a slow Redis.
const sharedStatsResponseMs = 100
// They are sent, marked stale, while PostgreSQL is unreachable.
const sharedStatsMs = 86_400_000

/**
 * The hash of all sources is part of the keys, so that no release sends what another one computed,
 * or reads what another one wrote.
 */
const sourceFolder = join(import.meta.dirname, '../..')
export const codeHash = globSync('**/*.{ts,sql}', { cwd: sourceFolder })
  .toSorted()
  .reduce(
    (hash, file) => hash.update(file).update(readFileSync(join(sourceFolder, file))),
    createHash('sha256'),
  )
  .digest('base64url')
  .slice(0, 16)

/**
 * Milliseconds of performance.now(). Ages are differences of moments, so that an adjusted system
 * clock does not change them. Another process has another clock: Redis stores Date.now() instead.
 */
export type Moment = number

/** Converts a moment to a time of Date.now(). */
export function toEpochMs(moment: Moment): number {
  return Date.now() - (performance.now() - moment)
}

/** Statistics of this version of the summary. They contain every commit before `knownCurrentAt`. */
export type ComputedStats = {
  stats: StatsWithoutAsOf
  version: SummaryVersion
  knownCurrentAt: Moment
}

type StoredStats = Omit<ComputedStats, 'knownCurrentAt'> & { knownCurrentAtEpochMs: number }

export class SharedStatsCache {
  readonly #redis: OptionalRedis
  readonly #prefix: string

  /**
   * Without Redis, every read returns null and writes do nothing. Only processes with the same
   * `code` share statistics.
   */
  constructor(redis: RedisAccess | null, prefix: string, code = codeHash) {
    this.#redis = new OptionalRedis(redis, redisPauseMs)
    this.#prefix = `${prefix}stats:${code}`
  }

  /**
   * Returns statistics of this generation, which no other database has. Returns null if there are
   * none that are valid, or if Redis has just failed or been too slow.
   */
  async read(generation: string, key: string): Promise<ComputedStats | null> {
    const redisKey = this.#redisKey(generation, key)
    const text = await this.#redis.run(sharedStatsResponseMs, (redis) => redis.get(redisKey))
    return text === null ? null : parseStored(text)
  }

  /** Writes in the background. No request waits for it. It also writes while reads pause. */
  write(key: string, { knownCurrentAt, ...computed }: ComputedStats): void {
    const redisKey = this.#redisKey(computed.version.generation, key)
    const value = JSON.stringify({
      ...computed,
      knownCurrentAtEpochMs: toEpochMs(knownCurrentAt),
    } satisfies StoredStats)
    this.#redis.write((redis) => redis.set(redisKey, value, 'PX', sharedStatsMs))
  }

  #redisKey(generation: string, key: string): string {
    return `${this.#prefix}:${generation}:${key}`
  }
}

/** Returns null if the text is no such value: another program may have written to the key. */
function parseStored(text: string): ComputedStats | null {
  try {
    const { stats, version, knownCurrentAtEpochMs } = JSON.parse(text) as Partial<StoredStats>
    if (stats === undefined || typeof knownCurrentAtEpochMs !== 'number') return null
    if (typeof version?.generation !== 'string' || typeof version.number !== 'number') return null
    // The clock of another computer may be ahead.
    const ageMs = Math.max(0, Date.now() - knownCurrentAtEpochMs)
    return { stats, version, knownCurrentAt: performance.now() - ageMs }
  } catch {
    return null
  }
}
