// Finished answers, kept for a second in Redis and computed once at a time in each process.
import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'

export type CachedAnswer = { body: string; etag: string; computedAt: number }
export type Cached = { answer: CachedAnswer; how: 'hit' | 'miss' | 'stale' }

/** A committed change must show within two seconds: the answer lives for one, and takes well under one to compute. */
const freshForMs = 1_000
/** How long an answer is kept for the case that PostgreSQL is away. */
const keptForSeconds = 3_600

/**
 * Returns a reader of answers by key. Redis first; else `compute`, once at a time per key and process. When computing fails, the last known
 * answer is given as stale; with none, the failure. Without Redis, or with it away, answers are kept in this process.
 */
export function answerCache(redis: Redis | null, prefix: string, now: () => number = Date.now) {
  const running = new Map<string, Promise<CachedAnswer>>()
  const own = new Map<string, CachedAnswer>()

  async function read(key: string): Promise<CachedAnswer | null> {
    const text = await redis?.get(`${prefix}stats:${key}`).catch(() => null)
    const shared = text ? parse(text) : null
    const local = own.get(key) ?? null
    return shared && (!local || shared.computedAt >= local.computedAt) ? shared : local
  }

  function keep(key: string, answer: CachedAnswer): void {
    if (own.size >= 1_000) own.clear()
    own.set(key, answer)
    redis?.set(`${prefix}stats:${key}`, JSON.stringify(answer), 'EX', keptForSeconds).catch(() => undefined)
  }

  function computeOnce(key: string, compute: () => Promise<string>): Promise<CachedAnswer> {
    const known = running.get(key)
    if (known) return known
    const startedAt = now()
    const work = compute()
      .then((body) => {
        const answer = { body, etag: `"${createHash('sha256').update(body).digest('base64url')}"`, computedAt: startedAt }
        keep(key, answer)
        return answer
      })
      .finally(() => running.delete(key))
    running.set(key, work)
    return work
  }

  return async (key: string, compute: () => Promise<string>): Promise<Cached> => {
    const known = await read(key)
    if (known && now() - known.computedAt < freshForMs) return { answer: known, how: 'hit' }
    try {
      return { answer: await computeOnce(key, compute), how: 'miss' }
    } catch (error) {
      if (known) return { answer: known, how: 'stale' }
      throw error
    }
  }
}

/** Whatever Redis holds under the key; anything but an answer counts as nothing. */
function parse(text: string): CachedAnswer | null {
  try {
    const { body, etag, computedAt } = JSON.parse(text) as Partial<CachedAnswer>
    return typeof body === 'string' && typeof etag === 'string' && typeof computedAt === 'number' ? { body, etag, computedAt } : null
  } catch {
    return null
  }
}
