// Counts what people search for: follows what callers type, and counts what they stayed on every
// ten seconds.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { FailureLog, type TaskLog } from '../monitoring/log/failure-log.ts'
import type { RedisAccess } from '../redis/optional-redis.ts'
import { ReportCounts } from './count-queries.ts'
import { toKeptText } from './kept-texts.ts'
import { type SettledQuery, TypedQueries } from './typed-queries.ts'

// A query counts after three to four seconds without a further keystroke.
const tickMs = 1_000
// Its keystrokes settle within four seconds.
const continuedMs = 5_000
// A few statements for many searches.
const writeMs = 10_000
/** Queries that wait to be counted. Further ones are not counted. */
const maxWaiting = 2_000

type Options = {
  db: Kysely<Tables>
  redis: RedisAccess | null
  redisPrefix: string
  /** Known to every API process, and not stored in PostgreSQL or Redis. */
  secret: string
  log: TaskLog
}

export class QueryRecorder {
  readonly #failures: FailureLog
  readonly #typed = new TypedQueries()
  readonly #counts: ReportCounts
  /** Settled queries, which another process may still continue. */
  #waiting: { query: SettledQuery; since: number }[] = []
  #writing: Promise<void> = Promise.resolve()
  #writtenAt = performance.now()
  readonly #timer: NodeJS.Timeout

  constructor({ db, redis, redisPrefix, secret, log }: Options) {
    this.#failures = new FailureLog(log, {
      failure: (cause) => `What people search for cannot be counted (${cause})`,
      recovery: 'What people search for is counted again',
    })
    this.#counts = new ReportCounts(db, redis, redisPrefix, secret)
    this.#timer = setInterval(() => this.#tick(), tickMs).unref()
  }

  /** Remembers a search. `caller` is the id of a secret key or an address. Does not wait. */
  record(caller: string, text: string, hasHits: boolean): void {
    this.#typed.record(caller, text, hasHits)
  }

  /** Writes what has been typed so far, and stops. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writing
    const waiting = this.#waiting.map(({ query }) => query)
    await this.#write([...waiting, ...this.#typed.takeAll().flatMap(toKeptQuery)])
  }

  #tick(): void {
    const now = performance.now()
    const room = maxWaiting - this.#waiting.length
    const settled = this.#typed.takeSettled().flatMap(toKeptQuery).slice(0, room)
    this.#waiting.push(...settled.map((query) => ({ query, since: now })))
    void this.#counts.publishBeginnings(settled)
    if (now - this.#writtenAt < writeMs) return
    this.#writtenAt = now
    const isDue = ({ since }: { since: number }) => now - since >= continuedMs
    const due = this.#waiting.filter(isDue)
    this.#waiting = this.#waiting.filter((entry) => !isDue(entry))
    this.#writing = this.#writing.then(() => this.#write(due.map(({ query }) => query)))
  }

  /** Counts that cannot be written are lost: they are a sample. */
  async #write(queries: SettledQuery[]): Promise<void> {
    if (queries.length === 0) return
    try {
      await this.#counts.add(queries, new Date().toISOString().slice(0, 10))
      this.#failures.logSuccess()
    } catch (error) {
      this.#failures.logFailure(error)
    }
  }
}

/** Returns the query with its text as the report shows it, or nothing if it may not be counted. */
function toKeptQuery(query: SettledQuery): SettledQuery[] {
  const text = toKeptText(query.text)
  return text === null ? [] : [{ ...query, text }]
}
