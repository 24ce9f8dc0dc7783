// Answers that the processes share through Redis. Whatever is wrong with Redis costs the sharing, never the answer nor a wait for it.
import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Position } from './data-version.ts'

/** An answer as JSON text, with the state of the data and the local day that it is of, and when (Date.now) that was. */
export type Answer = { body: string; position: Position; today: string; computedAt: number }

export type SharedAnswers = {
  read(key: string): Promise<Answer | null>
  write(key: string, answer: Answer): void
}

/** Computing takes less than a slow Redis. */
const patienceMs = 100
const pauseAfterTroubleMs = 1_000
/** How long answers are kept for the case that PostgreSQL is away. */
const keptForSeconds = 86_400

/** Answers in Redis under `prefix`; without Redis there are none. After an error or a slow reply nothing is read for a second. */
export function sharedAnswers(redis: Redis | null, prefix: string): SharedAnswers {
  let pausedUntil = 0
  const nameOf = (key: string) => `${prefix}stats:1:${key}`

  return {
    async read(key) {
      if (!redis || performance.now() < pausedUntil) return null
      try {
        const text = await within(redis.get(nameOf(key)))
        return text === null ? null : parse(text)
      } catch {
        pausedUntil = performance.now() + pauseAfterTroubleMs
        return null
      }
    },
    write(key, answer) {
      // Nobody waits for this: it is tried also while reading pauses.
      if (!redis) return
      redis
        .set(
          nameOf(key),
          JSON.stringify({ ...answer, hash: hashOf(answer.body) }),
          'EX',
          keptForSeconds,
        )
        .catch(() => undefined)
    },
  }
}

async function within<Result>(work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('Redis is slow')), patienceMs)
  })
  return Promise.race([work, limit]).finally(() => clearTimeout(timer))
}

/** Whatever Redis holds under the key; anything but a whole answer counts as nothing. */
function parse(text: string): Answer | null {
  try {
    const { body, position, today, computedAt, hash } = JSON.parse(text) as Partial<
      Answer & { hash: string }
    >
    if (
      typeof body !== 'string' ||
      typeof today !== 'string' ||
      typeof computedAt !== 'number' ||
      hash !== hashOf(body)
    )
      return null
    if (typeof position?.generation !== 'string' || typeof position.changes !== 'number')
      return null
    return {
      body,
      position: { generation: position.generation, changes: position.changes },
      today,
      computedAt,
    }
  } catch {
    return null
  }
}

function hashOf(body: string): string {
  return createHash('sha256').update(body).digest('base64url')
}
