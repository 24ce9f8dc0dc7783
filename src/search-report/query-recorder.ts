// Counts what people search for: follows what callers type, and writes the counts every ten
// seconds.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import type { RedisAccess } from '../redis/optional-redis.ts'
import type { RegisteredEngine } from '../search-engine/engine-selection.ts'
import { ContinuedQueries } from './continued-queries.ts'
import { countBatch } from './count-batch.ts'
import { listReportableWords, toKeptText } from './kept-texts.ts'
import { ReportHashes } from './report-hashes.ts'
import { type SettledQuery, TypedQueries } from './typed-queries.ts'
import { UnknownWords } from './unknown-words.ts'
import { writeBatch } from './write-batch.ts'

// A query counts after three to four seconds without a further keystroke.
const tickMs = 1_000
// Its keystrokes settle within four seconds.
const continuedMs = 5_000
// A few statements for many searches.
const writeMs = 10_000

type Options = {
  db: Kysely<Tables>
  redis: RedisAccess | null
  redisPrefix: string
  engines: readonly RegisteredEngine[]
  indexName: string
  /** Known to every API process, and not stored in PostgreSQL or Redis. */
  secret: string
  log: { warn(values: object, message: string): void }
}

/** Queries that wait to be counted. Further ones are not counted. */
const maxWaiting = 2_000

export class QueryRecorder {
  readonly #options: Options
  readonly #typed = new TypedQueries()
  readonly #hashes: ReportHashes
  readonly #continued: ContinuedQueries
  readonly #unknownWords: UnknownWords
  /** Settled queries, which another process may still continue. */
  #waiting: { query: SettledQuery; since: number }[] = []
  #writing: Promise<void> = Promise.resolve()
  #hasFailed = false
  #writtenAt = performance.now()
  readonly #timer: NodeJS.Timeout

  constructor(options: Options) {
    const { redis, redisPrefix, engines, indexName, secret } = options
    this.#options = options
    this.#hashes = new ReportHashes(secret)
    this.#continued = new ContinuedQueries(redis, redisPrefix, this.#hashes)
    this.#unknownWords = new UnknownWords(engines, indexName)
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
    const queries = [
      ...this.#waiting.map(({ query }) => query),
      ...this.#typed.takeAll().flatMap(toKeptQuery),
    ]
    await this.#write(queries)
  }

  #tick(): void {
    const now = performance.now()
    const room = maxWaiting - this.#waiting.length
    const settled = this.#typed.takeSettled().flatMap(toKeptQuery).slice(0, room)
    this.#waiting.push(...settled.map((query) => ({ query, since: now })))
    void this.#continued.publish(settled, today())
    if (now - this.#writtenAt < writeMs) return
    this.#writtenAt = now
    const isDue = ({ since }: { since: number }) => now - since >= continuedMs
    const due = this.#waiting.filter(isDue)
    this.#waiting = this.#waiting.filter((entry) => !isDue(entry))
    this.#writing = this.#writing.then(() => this.#write(due.map(({ query }) => query)))
  }

  /** Counts that cannot be written are lost: they are a sample. The first failure is logged. */
  async #write(queries: SettledQuery[]): Promise<void> {
    const day = today()
    try {
      const last = await this.#continued.dropContinued(queries, day)
      if (last.length === 0) return
      const words = new Set(last.flatMap(({ text }) => listReportableWords(text)))
      const unknownWords = await this.#unknownWords.find([...words])
      await writeBatch(this.#options.db, countBatch(last, unknownWords, this.#hashes), day)
      this.#hasFailed = false
    } catch (err) {
      if (!this.#hasFailed)
        this.#options.log.warn({ err }, 'what people search for could not be counted')
      this.#hasFailed = true
    }
  }
}

const today = () => new Date().toISOString().slice(0, 10)

/** Returns the query with its text as the report shows it, or nothing if it may not be counted. */
function toKeptQuery(query: SettledQuery): SettledQuery[] {
  const text = toKeptText(query.text)
  return text === null ? [] : [{ ...query, text }]
}
