// Plays random histories of quotes on concurrent connections and compares the statistics with the
// expected ones.
import fc from 'fast-check'
import { sql } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import type { Database } from '../../src/database/postgres-pool.ts'
import { foldBatch, rebuildSummary } from '../../src/stats/summary/fold-changes.ts'
import { readStats } from '../../src/stats/summary/read-stats.ts'
import { company } from '../support/test-service.ts'
import { assertExpectedStats, dayAfter, type Quote, type StatsQuery } from './expected-stats.ts'
import { arbitraryQuery, arbitraryQuote, firstDay, type RandomQuery } from './random-quotes.ts'

const writerCount = 3
/** Days after `firstDay` on which the final statistics are read: the last quotes have lapsed. */
const finalDay = 385

type NewQuote = Omit<Quote, 'number'>
type Write =
  | { kind: 'insert'; writer: number; quotes: NewQuote[] }
  | { kind: 'update'; writer: number; index: number; quote: NewQuote }
  | { kind: 'delete'; writer: number; index: number }
type Step =
  | Write
  | { kind: 'commit'; writer: number }
  | { kind: 'rollback'; writer: number }
  | { kind: 'fold' }
  | { kind: 'rebuild' }
  | { kind: 'check'; query: RandomQuery; day: number }

const stepKind = <Kind extends string>(kind: Kind): fc.Arbitrary<Kind> => fc.constant(kind)
const anyWriter = fc.integer({ min: 0, max: writerCount - 1 })
const anyIndex = fc.integer({ min: 0, max: 11 })
const anyDay = fc.integer({ min: 0, max: 450 })
const anyQuotes = fc.array(arbitraryQuote, { minLength: 1, maxLength: 6 })

const arbitraryInsert = fc.record({
  kind: stepKind('insert'),
  writer: anyWriter,
  quotes: anyQuotes,
})
const arbitraryUpdate = fc.record({
  kind: stepKind('update'),
  writer: anyWriter,
  index: anyIndex,
  quote: arbitraryQuote,
})
const arbitraryDelete = fc.record({
  kind: stepKind('delete'),
  writer: anyWriter,
  index: anyIndex,
})
const arbitraryCheck = fc.record({ kind: stepKind('check'), query: arbitraryQuery, day: anyDay })

const arbitraryStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: arbitraryInsert },
  { weight: 4, arbitrary: arbitraryUpdate },
  { weight: 2, arbitrary: arbitraryDelete },
  { weight: 3, arbitrary: fc.record({ kind: stepKind('commit'), writer: anyWriter }) },
  { weight: 1, arbitrary: fc.record({ kind: stepKind('rollback'), writer: anyWriter }) },
  { weight: 2, arbitrary: fc.record({ kind: stepKind('fold') }) },
  { weight: 1, arbitrary: fc.record({ kind: stepKind('rebuild') }) },
  { weight: 3, arbitrary: arbitraryCheck },
)

/**
 * Plays histories in which three writers have open transactions while others fold, rebuild and read
 * statistics. Each answer must be the statistics of the committed quotes, with any day as today.
 * A writer changes only its own quotes, so that no writer waits for a row lock of another.
 * Returns the number of histories played. Throws if an answer is wrong.
 */
export async function checkHistories(
  { db, pool }: { db: Database; pool: Pool },
  parameters: fc.Parameters<[Step[], RandomQuery]>,
): Promise<number> {
  const clients = await Promise.all(Array.from({ length: writerCount }, () => pool.connect()))
  const arbitrarySteps = fc.array(arbitraryStep, { maxLength: 30, size: 'max' })
  const play = fc.asyncProperty(arbitrarySteps, arbitraryQuery, async (steps, finalQuery) => {
    for (const client of clients) await client.query('rollback')
    await sql`truncate quotes cascade`.execute(db)
    const history = new History(db, clients)
    for (const step of steps) await history.play(step)
    await history.finish(finalQuery)
  })
  try {
    const result = await fc.check(play, parameters)
    if (result.failed) throw new Error(fc.defaultReportMessage(result))
    return result.numRuns
  } finally {
    for (const client of clients) {
      await client.query('rollback')
      client.release()
    }
  }
}

type Quotes = Map<string, Quote>
/** The uncommitted changes of a transaction by quote number; null is a deleted quote. */
type Changes = Map<string, Quote | null>
type Writer = { number: number; client: PoolClient; changes: Changes }

class History {
  readonly #db: Database
  readonly #writers: Writer[]
  #committed: Quotes = new Map()

  constructor(db: Database, clients: PoolClient[]) {
    this.#db = db
    this.#writers = clients.map((client, number) => ({ number, client, changes: new Map() }))
  }

  async play(step: Step): Promise<void> {
    if (step.kind === 'fold') await foldBatch(this.#db)
    else if (step.kind === 'rebuild') await rebuildSummary(this.#db)
    else if (step.kind === 'check') await this.#check(step.query, step.day)
    else await this.#playInTransaction(step)
  }

  /** Commits all transactions and checks the statistics before and after folding everything. */
  async finish(query: RandomQuery): Promise<void> {
    for (const writer of this.#writers) await this.#end(writer, 'commit')
    await this.#check(query, finalDay)
    while ((await foldBatch(this.#db)) > 0);
    await this.#check(query, finalDay)
  }

  async #playInTransaction(step: Extract<Step, { writer: number }>): Promise<void> {
    const writer = this.#writers[step.writer]
    if (!writer) return
    const hasOpenTransaction = writer.changes.size > 0
    if (!hasOpenTransaction) await writer.client.query("begin; set local statement_timeout = '10s'")
    if (step.kind === 'commit' || step.kind === 'rollback') await this.#end(writer, step.kind)
    else await write(writer, step, applyChanges(this.#committed, writer.changes))
  }

  async #end({ client, changes }: Writer, kind: 'commit' | 'rollback'): Promise<void> {
    await client.query(kind)
    if (kind === 'commit') this.#committed = applyChanges(this.#committed, changes)
    changes.clear()
  }

  async #check(query: RandomQuery, day: number): Promise<void> {
    const { date, country, currency, days, compare } = query
    const today = dayAfter(firstDay, day)
    const bounds = days && ([dayAfter(firstDay, days[0]), dayAfter(firstDay, days[1])] as const)
    const { stats } = await readStats(this.#db, company, {
      today,
      date,
      ...(country && { country }),
      ...(currency && { currency }),
      ...(bounds && { from: bounds[0], to: bounds[1] }),
      ...(compare && { compare }),
    })
    const expectedQuery: StatsQuery = { today, date, country, currency, bounds, compare }
    assertExpectedStats(stats, [...this.#committed.values()], expectedQuery)
  }
}

function applyChanges(committed: Quotes, changes: Changes): Quotes {
  const quotes = new Map(committed)
  for (const [number, quote] of changes) {
    if (quote) quotes.set(number, quote)
    else quotes.delete(number)
  }
  return quotes
}

const columns = [
  'status',
  'country',
  'currency',
  'rate',
  'issued_on',
  'valid_until',
  'decided_on',
  'net',
] as const

async function write(writer: Writer, step: Write, visible: Quotes): Promise<void> {
  if (step.kind === 'insert') return insertQuotes(writer, step.quotes, visible)
  const { client, changes } = writer
  const ownNumbers = [...visible.keys()].filter((number) => number.startsWith(`${writer.number}-`))
  const number = ownNumbers[step.index % Math.max(1, ownNumbers.length)]
  if (number === undefined) return
  if (step.kind === 'delete') {
    await client.query('delete from quotes where number = $1', [number])
    changes.set(number, null)
    return
  }
  const assignments = columns.map((column, index) => `${column} = $${index + 2}`).join(', ')
  await client.query(`update quotes set ${assignments}, gross = $9::numeric where number = $1`, [
    number,
    ...columns.map((column) => step.quote[column]),
  ])
  changes.set(number, { ...step.quote, number })
}

/** Inserts with a single statement, so that one statement changes several rows of the summary. */
async function insertQuotes(
  { number: writerNumber, client, changes }: Writer,
  quotes: NewQuote[],
  visible: Quotes,
): Promise<void> {
  const newQuotes = quotes
    .map((quote, index) => ({
      ...quote,
      number: `${writerNumber}-${visible.size}-${index}-${changes.size}`,
    }))
    .filter(({ number }) => !visible.has(number) && !changes.has(number))
  if (newQuotes.length === 0) return
  await client.query(
    `insert into quotes (number, ${columns.join(', ')}, gross)
    select *, net from jsonb_to_recordset($1) as q (
      number text, status text, country text, currency text, rate numeric, issued_on date,
      valid_until date, decided_on date, net numeric
    )`,
    [JSON.stringify(newQuotes)],
  )
  for (const quote of newQuotes) changes.set(quote.number, quote)
}
