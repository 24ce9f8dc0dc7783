// Tells in which queries a caller went on typing on another process. A balancer may spread the
// keystrokes of one query over several processes; each then sees a beginning of it.
import type { Redis } from 'ioredis'
import { timeouts } from '../timeouts.ts'
import type { ReportHashes } from './report-hashes.ts'
import type { SettledQuery } from './typed-queries.ts'

export class ContinuedQueries {
  readonly #redis: Redis | null
  readonly #keyPrefix: string
  readonly #hashes: ReportHashes

  /** Without Redis each process counts on its own. */
  constructor(redis: Redis | null, keyPrefix: string, hashes: ReportHashes) {
    this.#redis = redis
    this.#keyPrefix = `${keyPrefix}typed:`
    this.#hashes = hashes
  }

  /** Tells the other processes the beginnings of these queries, as hashes. */
  async publish(queries: SettledQuery[], day: string): Promise<void> {
    const pipeline = this.#redis?.pipeline()
    if (!pipeline || queries.length === 0) return
    for (const { caller, text } of queries) {
      const typist = this.#hashes.typist(caller, day)
      const letters = [...text]
      const beginnings = letters.slice(1).map((_, end) =>
        this.#hashes.typed(
          typist,
          letters
            .slice(0, end + 1)
            .join('')
            .trim(),
        ),
      )
      if (beginnings.length === 0) continue
      pipeline.sadd(this.#keyPrefix + typist, ...beginnings)
      pipeline.pexpire(this.#keyPrefix + typist, timeouts.searchReport.typedExpiry.ms)
    }
    // Redis outages are logged elsewhere. Until then each process counts on its own.
    await pipeline.exec().catch(() => undefined)
  }

  /** Returns the queries that were not continued on another process. */
  async keepLast(queries: SettledQuery[], day: string): Promise<SettledQuery[]> {
    const pipeline = this.#redis?.pipeline()
    if (!pipeline || queries.length === 0) return queries
    for (const { caller, text } of queries) {
      const typist = this.#hashes.typist(caller, day)
      pipeline.sismember(this.#keyPrefix + typist, this.#hashes.typed(typist, text))
    }
    const replies = await pipeline.exec().catch(() => null)
    return queries.filter((_, index) => replies?.[index]?.[1] !== 1)
  }
}
