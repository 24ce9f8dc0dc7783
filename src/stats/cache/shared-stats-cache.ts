// The cache of answers in Redis, which all API processes share. A Redis failure costs only the
// sharing: a request never fails because of it and never waits long for it.
import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import pTimeout from 'p-timeout'
import { timeouts } from '../../timeouts.ts'
import type { DataVersion } from './data-version.ts'

/**
 * An answer as JSON text, with the data version and the local day for which it was computed.
 * `computedAt` (Date.now) is the moment before the computation began.
 */
export type SharedAnswer = {
  body: string
  version: DataVersion
  today: string
  computedAt: number
}

/** Answers are kept for one day, so that they are available while PostgreSQL is unreachable. */
const lifetimeSeconds = 86_400

export class SharedStatsCache {
  readonly #redis: Redis | null
  readonly #prefix: string
  #pausedUntil = 0

  /** Without Redis, every read returns null and writes do nothing. */
  constructor(redis: Redis | null, prefix: string) {
    this.#redis = redis
    this.#prefix = prefix
  }

  /** Returns null if there is no valid answer, or if Redis has just failed or been too slow. */
  async read(key: string): Promise<SharedAnswer | null> {
    if (!this.#redis || performance.now() < this.#pausedUntil) return null
    try {
      const text = await pTimeout(this.#redis.get(this.#redisKey(key)), {
        milliseconds: timeouts.stats.sharedAnswer.ms,
      })
      return text === null ? null : parseAnswer(text)
    } catch {
      // Not logged: redis-outage-log.ts logs outages of Redis.
      this.#pausedUntil = performance.now() + timeouts.stats.sharedCachePause.ms
      return null
    }
  }

  /** Writes in the background, also while reads are paused. No request waits for it. */
  write(key: string, answer: SharedAnswer): void {
    const value = JSON.stringify({ ...answer, hash: hashOf(answer.body) })
    // Not logged: redis-outage-log.ts logs outages of Redis.
    this.#redis?.set(this.#redisKey(key), value, 'EX', lifetimeSeconds).catch(() => undefined)
  }

  #redisKey(key: string): string {
    return `${this.#prefix}stats:1:${key}`
  }
}

/** Returns null unless the text is a complete answer whose hash matches. */
function parseAnswer(text: string): SharedAnswer | null {
  try {
    const answer = JSON.parse(text) as Partial<SharedAnswer & { hash: string }>
    const { body, version, today, computedAt, hash } = answer
    if (typeof body !== 'string' || hash !== hashOf(body)) return null
    if (typeof today !== 'string' || typeof computedAt !== 'number') return null
    if (typeof version?.generation !== 'string' || typeof version.changes !== 'number') return null
    const { generation, changes } = version
    return { body, version: { generation, changes }, today, computedAt }
  } catch {
    // Not JSON: another program may have written to the key.
    return null
  }
}

function hashOf(body: string): string {
  return createHash('sha256').update(body).digest('base64url')
}
