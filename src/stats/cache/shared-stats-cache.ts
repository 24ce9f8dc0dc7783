// The cache of statistics in Redis, which all API processes share. If Redis fails, each process
// computes for itself: no request fails because of Redis or waits long for it.
import { createHash } from 'node:crypto'
import { OptionalRedis, type RedisAccess } from '../../redis/optional-redis.ts'
import { timeouts } from '../../timeouts.ts'
import { codeHash } from './code-hash.ts'
import type { DataVersion } from './data-version.ts'

/**
 * `body` has the statistics without `asOf`, as JSON text. They were computed from `version` of the
 * data, for the local day `today`.
 *
 * They contain every commit before `computedAtEpochMs` (Date.now). `position` is a WAL position at
 * or after every change in them.
 */
export type SharedStats = {
  body: string
  version: DataVersion
  today: string
  computedAtEpochMs: number
  position?: number | null
}

/** Statistics are kept for a day, so that they are available while PostgreSQL is unreachable. */
const lifetimeSeconds = 86_400

export class SharedStatsCache {
  readonly #redis: OptionalRedis
  readonly #prefix: string

  /**
   * Without Redis, every read returns null and writes do nothing. Only processes with the same
   * `code` share statistics.
   */
  constructor(redis: RedisAccess | null, prefix: string, code = codeHash) {
    this.#redis = new OptionalRedis(redis, timeouts.stats.redisPause.ms)
    this.#prefix = `${prefix}stats:${code}`
  }

  /**
   * Returns statistics that were computed from the database with this id. Returns null if there are
   * none that are valid, or if Redis has just failed or been too slow.
   */
  async read(databaseId: string, key: string): Promise<SharedStats | null> {
    const redisKey = this.#redisKey(databaseId, key)
    const text = await this.#redis.run(timeouts.stats.sharedStats.ms, (redis) =>
      redis.get(redisKey),
    )
    return text === null ? null : parseShared(text)
  }

  /** Writes in the background. No request waits for it, and a pause of reads does not stop it. */
  write(databaseId: string, key: string, shared: SharedStats): void {
    const redisKey = this.#redisKey(databaseId, key)
    const value = JSON.stringify({ ...shared, hash: hashOf(shared.body) })
    this.#redis.write((redis) => redis.set(redisKey, value, 'EX', lifetimeSeconds))
  }

  #redisKey(databaseId: string, key: string): string {
    return `${this.#prefix}:${databaseId}:${key}`
  }
}

/** Returns null if the text is incomplete, or if its hash does not match. */
function parseShared(text: string): SharedStats | null {
  try {
    const shared = JSON.parse(text) as Partial<SharedStats & { hash: string }>
    const { body, version, today, computedAtEpochMs, position, hash } = shared
    if (typeof body !== 'string' || hash !== hashOf(body)) return null
    if (typeof today !== 'string' || typeof computedAtEpochMs !== 'number') return null
    if (typeof version?.generation !== 'string' || typeof version.changeCount !== 'number')
      return null
    const { generation, changeCount } = version
    return {
      body,
      version: { generation, changeCount },
      today,
      computedAtEpochMs,
      ...(typeof position === 'number' && { position }),
    }
  } catch {
    // Not JSON: another program may have written to the key.
    return null
  }
}

function hashOf(body: string): string {
  return createHash('sha256').update(body).digest('base64url')
}
