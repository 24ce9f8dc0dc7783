// Counts what people search for. Redis counts the callers of a text (HyperLogLog) and knows hashes
// only. A text reaches PostgreSQL after five callers have searched for it.
import { createHmac } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { FailureLog, type TaskLog } from '../monitoring/log/failure-log.ts'
import { executeAll, OptionalRedis, type RedisAccess } from '../redis/optional-redis.ts'
import { redisCommandTimeout } from '../redis/redis-connection.ts'
import { listReportableWords, toKeptText } from './kept-texts.ts'
import { TypedQueries, type TypedQuery } from './typed-queries.ts'

// A query counts if its caller does not change it for four to eight seconds.
export const countingPeriod = { ms: 4_000 }
/** Then it waits so long for another process to which a balancer has sent further keystrokes. */
const waitingPeriods = 2
const typedMs = 30_000
const requiredCallers = 5
// A person searches for fewer texts in some seconds. More of a program do not count.
const maxTextsPerCaller = 5
const maxTexts = 100
/** Older texts are forgotten, so that programs cannot fill Redis. */
const maxTextsInRedis = 20_000
const maxTextsPerDay = 20_000
/** Callers are forgotten if nobody searches for the text in this time. */
const callersMs = 30 * 86_400_000
const hashLength = 32

type CountedText = {
  kind: 'query' | 'word'
  text: string
  callers: Set<string>
  searches: number
  without_result: number
}
type Options = {
  db: Kysely<Tables>
  /** Without Redis, only the numbers of searches are counted. */
  redis: RedisAccess | null
  redisPrefix: string
  /** Known to every API process, and not stored in PostgreSQL or Redis. */
  secret: string
  log: TaskLog
}

export class QueryRecorder {
  readonly #db: Kysely<Tables>
  readonly #redis: OptionalRedis
  readonly #prefix: string
  readonly #key: Buffer
  readonly #failures: FailureLog
  readonly #typed = new TypedQueries()
  /** Settled queries, by period. */
  #waiting: TypedQuery[][] = []
  #writing: Promise<void> = Promise.resolve()
  readonly #timer: NodeJS.Timeout

  constructor({ db, redis, redisPrefix, secret, log }: Options) {
    this.#db = db
    this.#redis = new OptionalRedis(redis, 0)
    // The braces keep all keys on one node of a cluster.
    this.#prefix = `${redisPrefix}{search-report}:`
    this.#key = createHmac('sha256', secret).update('search report').digest()
    this.#failures = new FailureLog(log, {
      failure: (cause) => `What people search for cannot be counted (${cause})`,
      recovery: 'What people search for is counted again',
    })
    this.#timer = setInterval(() => this.#endPeriod(), countingPeriod.ms).unref()
  }

  /** Remembers a search. Does not wait. */
  record(query: TypedQuery): void {
    this.#typed.record(query)
  }

  /** Counts what has been typed so far, and stops. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writing
    await this.#write([...this.#waiting.flat(), ...withKeptTexts(this.#typed.takeAll())])
  }

  #endPeriod(): void {
    const settled = withKeptTexts(this.#typed.takeSettled())
    this.#waiting.push(settled)
    void this.#publishBeginnings(settled)
    if (this.#waiting.length <= waitingPeriods) return
    const due = this.#waiting.shift() ?? []
    this.#writing = this.#writing.then(() => this.#write(due))
  }

  /** Tells the other processes what these queries continue: they may have seen a beginning only. */
  async #publishBeginnings(queries: TypedQuery[]): Promise<void> {
    await this.#run(queries, (pipeline, { caller, text }) => {
      const beginnings = [...text].map((_, end, letters) => letters.slice(0, end).join('').trim())
      const key = `${this.#prefix}typed:${this.#hash(caller)}`
      pipeline.sadd(key, ...beginnings.map((beginning) => this.#hash(caller, beginning)))
      pipeline.pexpire(key, typedMs)
    })
  }

  /** Counts that cannot be written are lost: they are a sample. */
  async #write(queries: TypedQuery[]): Promise<void> {
    if (queries.length === 0) return
    try {
      const continued = await this.#run(queries, (pipeline, { caller, text }) =>
        pipeline.sismember(`${this.#prefix}typed:${this.#hash(caller)}`, this.#hash(caller, text)),
      )
      await this.#count(queries.filter((_, index) => continued?.[index] !== 1))
      this.#failures.logSuccess()
    } catch (error) {
      this.#failures.logFailure(error)
    }
  }

  async #count(queries: TypedQuery[]): Promise<void> {
    if (queries.length === 0) return
    const day = new Date().toISOString().slice(0, 10)
    await sql`
      insert into search_report_days as days (day, searches, without_result)
      values (${day}, ${queries.length}, ${queries.filter(({ hasHits }) => !hasHits).length})
      on conflict (day) do update set searches = days.searches + excluded.searches,
        without_result = days.without_result + excluded.without_result
    `.execute(this.#db)
    const texts = await this.#addCallers(await this.#listTexts(queries))
    // In order, so that two processes cannot deadlock.
    await sql`
      insert into search_report_counts as counts (day, kind, text, searches, without_result)
      select ${day}::date, kind, text, searches, without_result
      from json_to_recordset(${JSON.stringify(texts)}::json)
        as added (kind text, text text, searches bigint, without_result bigint)
      where (select count(*) from search_report_counts where day = ${day}) < ${maxTextsPerDay}
      order by kind, text
      on conflict (kind, text, day) do update set
        searches = counts.searches + excluded.searches,
        without_result = counts.without_result + excluded.without_result
    `.execute(this.#db)
  }

  /** Lists the queries, and their words that no product has, neither whole nor as a beginning. */
  async #listTexts(queries: TypedQuery[]): Promise<CountedText[]> {
    const words = new Set(queries.flatMap(({ text }) => listReportableWords(text)))
    const { rows: unknown } = await sql<{ word: string }>`
      select typed as word from unnest(${[...words]}::text[]) as typed
      where not exists (
        select from product_words where word like array_to_string(search_atoms(typed), '') || '%'
      )
    `.execute(this.#db)
    const counts = new Map<string, CountedText>()
    const add = (kind: CountedText['kind'], text: string, { caller, hasHits }: TypedQuery) => {
      const none = { kind, text, callers: new Set<string>(), searches: 0, without_result: 0 }
      const counted = counts.get(`${kind} ${text}`) ?? none
      counts.set(`${kind} ${text}`, counted)
      counted.searches += 1
      counted.without_result += Number(kind === 'word' || !hasHits)
      counted.callers.add(this.#hash(text, caller))
    }
    for (const ofCaller of Map.groupBy(queries, ({ caller }) => caller).values())
      for (const query of ofCaller.slice(0, maxTextsPerCaller)) {
        add('query', query.text, query)
        for (const word of listReportableWords(query.text))
          if (unknown.some((row) => row.word === word)) add('word', word, query)
      }
    return [...counts.values()]
      .toSorted((a, b) => b.callers.size - a.callers.size)
      .slice(0, maxTexts)
  }

  /** Returns the texts that have enough callers. Earlier callers are one search each. */
  async #addCallers(texts: CountedText[]): Promise<Omit<CountedText, 'callers'>[]> {
    const prefix = `${this.#prefix}callers:`
    const index = `${this.#prefix}texts`
    const replies = await this.#run(texts, (pipeline, { kind, text, callers }) => {
      const hash = this.#hash(kind, text)
      const key = `${prefix}${hash}`
      pipeline.pfcount(key)
      pipeline.pfadd(key, ...callers)
      pipeline.pfcount(key)
      pipeline.pexpire(key, callersMs)
      pipeline.zadd(index, String(Date.now()), hash)
    })
    await this.#redis.run(redisCommandTimeout.ms, async (redis) => {
      const old = await redis.zrange(index, 0, String(-maxTextsInRedis - 1))
      if (old.length === 0) return
      await redis.zrem(index, ...old)
      await redis.del(...old.map((hash) => `${prefix}${hash}`))
    })
    return texts.flatMap(({ callers: _, ...text }, place) => {
      const [before, , after] = (replies ?? []).slice(place * 5).map(Number)
      if (before === undefined || after === undefined || after < requiredCallers) return []
      const earlier = before < requiredCallers ? before : 0
      return {
        ...text,
        searches: text.searches + earlier,
        without_result: text.without_result + (text.without_result > 0 ? earlier : 0),
      }
    })
  }

  /** Sends the commands for all items at once. Returns their results; null without Redis. */
  async #run<Item>(
    items: Item[],
    send: (pipeline: ReturnType<RedisAccess['client']['pipeline']>, item: Item) => void,
  ): Promise<unknown[] | null> {
    if (items.length === 0) return []
    return this.#redis.run(redisCommandTimeout.ms, (redis) => {
      const pipeline = redis.pipeline()
      for (const item of items) send(pipeline, item)
      return executeAll(pipeline)
    })
  }

  #hash(...parts: string[]): string {
    const hash = createHmac('sha256', this.#key).update(parts.join(' '))
    return hash.digest('hex').slice(0, hashLength)
  }
}

/** Returns the queries as the report shows them, without those that may not be counted. */
function withKeptTexts(queries: TypedQuery[]): TypedQuery[] {
  return queries.flatMap((query) => {
    const text = toKeptText(query.text)
    return text === null ? [] : [{ ...query, text }]
  })
}
