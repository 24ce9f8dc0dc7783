// Adds queries to the report. Redis counts how many callers have searched for a text
// (HyperLogLog). The text reaches PostgreSQL only after five; Redis knows hashes only.
import { createHmac } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { getCountedAddress } from '../http/client-address.ts'
import { executeAll, OptionalRedis, type RedisAccess } from '../redis/optional-redis.ts'
import { redisCommandTimeout } from '../redis/redis-connection.ts'
import { listReportableWords } from './kept-texts.ts'
import type { SettledQuery } from './typed-queries.ts'

/** A text is stored after this many callers have searched for it. */
const requiredCallers = 5
// A person searches for fewer texts in some seconds; more of a program do not count.
const maxTextsPerCaller = 5
const maxTexts = 100
/** Further texts are not counted, so that programs cannot fill Redis or the table. */
const maxPendingTexts = 20_000
const maxKeptTexts = 20_000
/** Texts that few callers search for are forgotten after this time. */
const pendingMs = 30 * 86_400_000
// The other processes count their part of a query within 20 seconds.
const typedMs = 30_000
const hashLength = 32

type Counts = { searches: number; withoutResult: number }
type CountedText = Counts & { kind: 'query' | 'word'; text: string; callers: Set<string> }

export class ReportCounts {
  readonly #db: Kysely<Tables>
  readonly #redis: OptionalRedis
  readonly #prefix: string
  readonly #key: Buffer

  /** All processes must have the same secret, or they count on their own. Without Redis, only the
   * numbers of searches are counted. */
  constructor(db: Kysely<Tables>, redis: RedisAccess | null, prefix: string, secret: string) {
    this.#db = db
    this.#redis = new OptionalRedis(redis, 0)
    // The braces keep all keys on one node of a cluster.
    this.#prefix = `${prefix}{search-report}:`
    this.#key = createHmac('sha256', secret).update('search report').digest()
  }

  /**
   * Tells the other processes the beginnings of these queries. A balancer may spread the keystrokes
   * of one query over several processes; each then sees a beginning of it.
   */
  async publishBeginnings(queries: SettledQuery[]): Promise<void> {
    await this.#run(queries, (pipeline, { caller, text }) => {
      const letters = [...text]
      const beginnings = letters.map((_, end) => letters.slice(0, end).join('').trim()).slice(1)
      if (beginnings.length === 0) return
      const key = this.#toTypedKey(caller)
      pipeline.sadd(key, ...beginnings.map((beginning) => this.#hash('typed', caller, beginning)))
      pipeline.pexpire(key, typedMs)
    })
  }

  /** Counts the queries that were not continued on another process. `day` is in UTC. */
  async add(queries: SettledQuery[], day: string): Promise<void> {
    const continued = await this.#run(queries, (pipeline, { caller, text }) => {
      pipeline.sismember(this.#toTypedKey(caller), this.#hash('typed', caller, text))
    })
    const last = queries.filter((_, index) => continued?.[index] !== 1)
    if (last.length === 0) return
    await sql`
      insert into search_report_days as days (day, searches, without_result)
      values (${day}, ${last.length}, ${last.filter(({ hasHits }) => !hasHits).length})
      on conflict (day) do update set searches = days.searches + excluded.searches,
        without_result = days.without_result + excluded.without_result
    `.execute(this.#db)
    const texts = await this.#countTexts(last)
    const known = await this.#findKept(texts)
    const kept = texts.filter(({ kind, text }) => known.has(`${kind} ${text}`))
    const due = await this.#addPending(texts.filter((text) => !kept.includes(text)))
    await this.#store([...kept, ...due], day)
  }

  async #countTexts(queries: SettledQuery[]): Promise<CountedText[]> {
    const words = new Set(queries.flatMap(({ text }) => listReportableWords(text)))
    const unknown = await this.#findUnknownWords([...words])
    const counts = new Map<string, CountedText>()
    const textsByCaller = new Map<string, number>()
    const add = (kind: CountedText['kind'], text: string, { caller, hasHits }: SettledQuery) => {
      const none = { kind, text, callers: new Set<string>(), searches: 0, withoutResult: 0 }
      const counted = counts.get(`${kind} ${text}`) ?? none
      counts.set(`${kind} ${text}`, counted)
      counted.searches += 1
      counted.withoutResult += Number(kind === 'word' || !hasHits)
      counted.callers.add(this.#hash(text, getCountedAddress(caller)))
    }
    for (const query of queries) {
      const ofCaller = textsByCaller.get(query.caller) ?? 0
      if (ofCaller >= maxTextsPerCaller) continue
      textsByCaller.set(query.caller, ofCaller + 1)
      add('query', query.text, query)
      for (const word of listReportableWords(query.text))
        if (unknown.has(word)) add('word', word, query)
    }
    return [...counts.values()]
      .toSorted((a, b) => b.callers.size - a.callers.size)
      .slice(0, maxTexts)
  }

  /** Returns the words that no product has, neither whole nor as the beginning of a word. */
  async #findUnknownWords(words: string[]): Promise<Set<string>> {
    if (words.length === 0) return new Set()
    const { rows } = await sql<{ word: string }>`
      select typed as word from unnest(${words}::text[]) as typed
      where not exists (
        select from product_words where word like array_to_string(search_atoms(typed), '') || '%'
      )
    `.execute(this.#db)
    return new Set(rows.map(({ word }) => word))
  }

  async #findKept(texts: CountedText[]): Promise<Set<string>> {
    const { rows } = await sql<{ name: string }>`
      select distinct kind || ' ' || text as name from search_report_counts
      where kind in ('query', 'word') and text = any (${texts.map(({ text }) => text)}::text[])
    `.execute(this.#db)
    return new Set(rows.map(({ name }) => name))
  }

  /** Adds counts in Redis. Returns the texts, with all their counts, that have enough callers. */
  async #addPending(texts: CountedText[]): Promise<CountedText[]> {
    const now = Date.now()
    const index = `${this.#prefix}texts`
    const replies = await this.#run(texts, (pipeline, { kind, text, callers, ...counts }) => {
      const hash = this.#hash(kind, text)
      pipeline.zadd(index, String(now), hash)
      pipeline.pfadd(`${this.#prefix}callers:${hash}`, ...callers)
      pipeline.pexpire(`${this.#prefix}callers:${hash}`, pendingMs)
      pipeline.hincrby(`${this.#prefix}counts:${hash}`, 'withoutResult', counts.withoutResult)
      pipeline.pexpire(`${this.#prefix}counts:${hash}`, pendingMs)
      pipeline.hincrby(`${this.#prefix}counts:${hash}`, 'searches', counts.searches)
      pipeline.pfcount(`${this.#prefix}callers:${hash}`)
    })
    const due = texts.flatMap((text, place) => {
      const [withoutResult, , searches, callers] = (replies ?? []).slice(
        place * 7 + 3,
        place * 7 + 7,
      )
      return Number(callers) >= requiredCallers
        ? [{ ...text, searches: Number(searches), withoutResult: Number(withoutResult) }]
        : []
    })
    const forgotten = await this.#redis.run(redisCommandTimeout.ms, async (redis) => {
      const surplus = (await redis.zcard(index)) - maxPendingTexts
      const old = surplus > 0 ? await redis.zrange(index, 0, String(surplus - 1)) : []
      return [...old, ...due.map(({ kind, text }) => this.#hash(kind, text))]
    })
    await this.#run<string>(forgotten ?? [], (pipeline, hash) => {
      pipeline.zrem(index, hash)
      pipeline.del(`${this.#prefix}callers:${hash}`, `${this.#prefix}counts:${hash}`)
    })
    return due
  }

  async #store(texts: CountedText[], day: string): Promise<void> {
    const rows = texts.map(({ kind, text, searches, withoutResult }) => ({
      kind,
      text,
      searches,
      without_result: withoutResult,
    }))
    // In order, so that two processes cannot deadlock.
    await sql`
      insert into search_report_counts as counts (day, kind, text, searches, without_result)
      select ${day}::date, kind, text, searches, without_result
      from json_to_recordset(${JSON.stringify(rows)}::json)
        as added (kind text, text text, searches bigint, without_result bigint)
      where (select count(*) from search_report_counts where day = ${day}) < ${maxKeptTexts}
      order by kind, text
      on conflict (kind, text, day) do update set
        searches = counts.searches + excluded.searches,
        without_result = counts.without_result + excluded.without_result
    `.execute(this.#db)
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

  #toTypedKey(caller: string): string {
    return `${this.#prefix}typed:${this.#hash('typist', getCountedAddress(caller))}`
  }

  #hash(...parts: string[]): string {
    return createHmac('sha256', this.#key)
      .update(parts.join(' '))
      .digest('hex')
      .slice(0, hashLength)
  }
}
