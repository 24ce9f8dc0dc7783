// The cache of answers in Redis, which all API processes share. A Redis failure costs only the
// sharing: a request never fails because of it and never waits long for it.
import { createHash } from 'node:crypto'
import { OptionalRedis, type RedisAccess } from '../../redis/optional-redis.ts'
import { timeouts } from '../../timeouts.ts'
import { computationVersion } from './computation-version.ts'
import type { DataVersion } from './data-version.ts'

/**
 * An answer without `asOf`, as JSON text, with the data version and the local day for which it was
 * computed.
 *
 * The answer contains every commit before `computedAtEpochMs` (Date.now). `position` is a WAL
 * position at or after every change in the answer.
 */
export type SharedAnswer = {
  body: string
  version: DataVersion
  today: string
  computedAtEpochMs: number
  position?: number | null
}

/** Changes with the format of the stored text. */
const formatVersion = 2
/** Answers are kept for one day, so that they are available while PostgreSQL is unreachable. */
const lifetimeSeconds = 86_400

export class SharedStatsCache {
  readonly #redis: OptionalRedis
  readonly #prefix: string

  /**
   * Without Redis, every read returns null and writes do nothing. Answers are shared only between
   * processes with the same `computation`.
   */
  constructor(redis: RedisAccess | null, prefix: string, computation = computationVersion) {
    this.#redis = new OptionalRedis(redis, timeouts.stats.redisPause.ms)
    this.#prefix = `${prefix}stats:${formatVersion}:${computation}`
  }

  /**
   * Returns an answer computed from the database with this id. Returns null if there is no valid
   * one, or if Redis has just failed or been too slow.
   */
  async read(databaseId: string, key: string): Promise<SharedAnswer | null> {
    const redisKey = this.#redisKey(databaseId, key)
    const text = await this.#redis.run(timeouts.stats.sharedAnswer.ms, (redis) =>
      redis.get(redisKey),
    )
    return text === null ? null : parseAnswer(text)
  }

  /** Writes in the background. No request waits for it, and a pause of reads does not stop it. */
  write(databaseId: string, key: string, answer: SharedAnswer): void {
    const redisKey = this.#redisKey(databaseId, key)
    const value = JSON.stringify({ ...answer, hash: hashOf(answer.body) })
    this.#redis.write((redis) => redis.set(redisKey, value, 'EX', lifetimeSeconds))
  }

  #redisKey(databaseId: string, key: string): string {
    return `${this.#prefix}:${databaseId}:${key}`
  }
}

/** Returns null if the text is not a complete answer, or if its hash does not match. */
function parseAnswer(text: string): SharedAnswer | null {
  try {
    const answer = JSON.parse(text) as Partial<SharedAnswer & { hash: string }>
    const { body, version, today, computedAtEpochMs, position, hash } = answer
    if (typeof body !== 'string' || hash !== hashOf(body)) return null
    if (typeof today !== 'string' || typeof computedAtEpochMs !== 'number') return null
    if (typeof version?.generation !== 'string' || typeof version.changes !== 'number') return null
    const { generation, changes } = version
    return {
      body,
      version: { generation, changes },
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
