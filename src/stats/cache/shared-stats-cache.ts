// The cache of statistics in Redis, which all API processes share. If Redis fails, each process
// computes for itself: no request fails because of Redis or waits long for it.
import { createHash } from 'node:crypto'
import { OptionalRedis, type RedisAccess } from '../../redis/optional-redis.ts'
import type { StatsWithoutAsOf } from '../schema.ts'
import type { SummaryVersion } from '../summary/summary-state.ts'
import { codeHash } from './code-hash.ts'
import { type Moment, toEpochMs, toMoment } from './moments.ts'

// Requests must not wait for Redis one after another during an outage.
const redisPauseMs = 1_000
// Computing the statistics takes less time than a slow Redis.
const sharedStatsResponseMs = 100
// They are sent, marked stale, while PostgreSQL is unreachable.
const sharedStatsMs = 86_400_000

/** Statistics of this version of the summary. They contain every commit before `knownCurrentAt`. */
export type ComputedStats = {
  stats: StatsWithoutAsOf
  version: SummaryVersion
  knownCurrentAt: Moment
}

/**
 * What Redis stores. The time `knownCurrentAtEpochMs` is that of Date.now(), because another
 * process has another monotonic clock. `hash` is that of `stats`.
 */
type StoredStats = Omit<ComputedStats, 'knownCurrentAt'> & {
  knownCurrentAtEpochMs: number
  hash: string
}

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
      hash: hashOf(computed.stats),
    } satisfies StoredStats)
    this.#redis.write((redis) => redis.set(redisKey, value, 'PX', sharedStatsMs))
  }

  #redisKey(generation: string, key: string): string {
    return `${this.#prefix}:${generation}:${key}`
  }
}

/**
 * Returns null if the text is incomplete, or if its hash does not match. The hash reveals a value
 * that was changed by accident. It is no protection against an attacker, who could compute it too.
 */
function parseStored(text: string): ComputedStats | null {
  try {
    const stored = JSON.parse(text) as Partial<StoredStats>
    const { stats, version, knownCurrentAtEpochMs, hash } = stored
    if (stats === undefined || hash !== hashOf(stats)) return null
    if (typeof knownCurrentAtEpochMs !== 'number') return null
    if (typeof version?.generation !== 'string' || typeof version.number !== 'number') return null
    return {
      stats,
      version: { generation: version.generation, number: version.number },
      knownCurrentAt: toMoment(knownCurrentAtEpochMs),
    }
  } catch {
    // Not JSON: another program may have written to the key.
    return null
  }
}

function hashOf(stats: ComputedStats['stats']): string {
  return createHash('sha256').update(JSON.stringify(stats)).digest('base64url')
}
