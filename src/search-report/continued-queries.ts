// Finds the queries that their callers continued on another process. A balancer may spread the
// keystrokes of one query over several processes; each then sees a beginning of it.
import { executeAll, OptionalRedis, type RedisAccess } from '../redis/optional-redis.ts'
import { redisCommandTimeout } from '../redis/redis-connection.ts'
import type { ReportHashes } from './report-hashes.ts'
import type { SettledQuery } from './typed-queries.ts'

// The other processes count theirs within 20 seconds.
const typedExpiryMs = 30_000

export class ContinuedQueries {
  readonly #redis: OptionalRedis
  readonly #redisPrefix: string
  readonly #hashes: ReportHashes

  /** Without Redis each process counts on its own. */
  constructor(redis: RedisAccess | null, redisPrefix: string, hashes: ReportHashes) {
    this.#redis = new OptionalRedis(redis, 0)
    this.#redisPrefix = `${redisPrefix}typed:`
    this.#hashes = hashes
  }

  /**
   * Tells the other processes the beginnings of these queries, as hashes. Each caller has a key of
   * its own, which may be on another node of a cluster.
   */
  async publish(queries: SettledQuery[], day: string): Promise<void> {
    const publishing = queries.map(({ caller, text }) => {
      const callerHash = this.#hashes.hashCallerOfDay(caller, day)
      const beginnings = listBeginnings(text).map((beginning) =>
        this.#hashes.hashTypedText(callerHash, beginning),
      )
      if (beginnings.length === 0) return null
      const key = this.#redisPrefix + callerHash
      // Without Redis each process counts on its own.
      return this.#redis.run(redisCommandTimeout.ms, (redis) =>
        executeAll(
          redis
            .pipeline()
            .sadd(key, ...beginnings)
            .pexpire(key, typedExpiryMs),
        ),
      )
    })
    await Promise.all(publishing)
  }

  /** Returns the queries that were not continued on another process. */
  async dropContinued(queries: SettledQuery[], day: string): Promise<SettledQuery[]> {
    const replies = await Promise.all(
      queries.map(({ caller, text }) => {
        const callerHash = this.#hashes.hashCallerOfDay(caller, day)
        return this.#redis.run(redisCommandTimeout.ms, (redis) =>
          redis.sismember(
            this.#redisPrefix + callerHash,
            this.#hashes.hashTypedText(callerHash, text),
          ),
        )
      }),
    )
    return queries.filter((_, index) => replies[index] !== 1)
  }
}

/** Returns the first letter, the first two letters, and so on, but not the whole text. */
function listBeginnings(text: string): string[] {
  const letters = [...text]
  return letters.slice(1).map((_, end) =>
    letters
      .slice(0, end + 1)
      .join('')
      .trim(),
  )
}
