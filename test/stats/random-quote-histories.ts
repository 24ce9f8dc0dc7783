// Random histories of quotes, played by several connections at once, against the plain computation.
import fc from 'fast-check'
import { sql } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import type { Database } from '../../src/database/postgres-pool.ts'
import { foldBatch, rebuildSummary } from '../../src/stats/summary/fold-deltas.ts'
import { readStats } from '../../src/stats/summary/stats-from-summary.ts'
import { company } from '../support/test-service.ts'
import { arbitraryQuery, arbitraryQuote, compare, dayAfter, type Quote } from './expected-stats.ts'

const writers = 3
const aNumber = fc.integer({ min: 0, max: 11 })
const aWriter = fc.integer({ min: 0, max: writers - 1 })
type Step =
  | { kind: 'insert'; writer: number; quotes: Omit<Quote, 'number'>[] }
  | { kind: 'update'; writer: number; number: number; quote: Omit<Quote, 'number'> }
  | { kind: 'delete'; writer: number; number: number }
  | { kind: 'commit'; writer: number }
  | { kind: 'rollback'; writer: number }
  | { kind: 'fold' }
  | { kind: 'rebuild' }
  | { kind: 'ask'; query: Query; day: number }

const a = <Kind extends string>(kind: Kind): fc.Arbitrary<Kind> => fc.constant(kind)
const arbitraryStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: a('insert'),
      writer: aWriter,
      quotes: fc.array(arbitraryQuote, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: a('update'),
      writer: aWriter,
      number: aNumber,
      quote: arbitraryQuote,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: a('delete'), writer: aWriter, number: aNumber }) },
  { weight: 3, arbitrary: fc.record({ kind: a('commit'), writer: aWriter }) },
  { weight: 1, arbitrary: fc.record({ kind: a('rollback'), writer: aWriter }) },
  { weight: 2, arbitrary: fc.record({ kind: a('fold') }) },
  { weight: 1, arbitrary: fc.record({ kind: a('rebuild') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: a('ask'),
      query: arbitraryQuery,
      day: fc.integer({ min: 0, max: 450 }),
    }),
  },
)

/**
 * Plays histories in which three writers have transactions open at the same time, while others fold, rebuild and ask; every answer must be that of
 * what is committed at that moment, on any day as today. Writers keep to numbers of their own: who waits for a row of another is not the question.
 * Answers how many were played.
 */
export async function checkHistories(
  { db, pool }: { db: Database; pool: Pool },
  parameters: fc.Parameters<[Step[], unknown]>,
): Promise<number> {
  const clients = await Promise.all(Array.from({ length: writers }, () => pool.connect()))
  try {
    const played = await fc.check(
      fc.asyncProperty(
        fc.array(arbitraryStep, { maxLength: 30, size: 'max' }),
        arbitraryQuery,
        async (steps, query) => {
          for (const client of clients) await client.query('rollback')
          await sql`truncate quotes cascade`.execute(db)
          let committed = new Map<string, Quote>()
          const opened = clients.map(() => new Map<string, Quote | null>())
          const state = () => [...committed.values()]
          for (const step of steps) {
            if (step.kind === 'fold') await foldBatch(db)
            else if (step.kind === 'rebuild') await rebuildSummary(db)
            else if (step.kind === 'ask') await ask(db, state(), step.query, step.day)
            else {
              const [client, changes] = [clients[step.writer], opened[step.writer]]
              if (!client || !changes) continue
              if (changes.size === 0)
                await client.query("begin; set local statement_timeout = '10s'")
              if (step.kind === 'commit' || step.kind === 'rollback') {
                await client.query(step.kind)
                if (step.kind === 'commit') committed = apply(committed, changes)
                changes.clear()
              } else await write(client, step, apply(committed, changes), changes)
            }
          }
          for (const [place, client] of clients.entries()) {
            await client.query('commit')
            committed = apply(committed, opened[place] ?? new Map())
          }
          await ask(db, state(), query, 385)
          while ((await foldBatch(db)) > 0);
          await ask(db, state(), query, 385)
        },
      ),
      parameters,
    )
    if (played.failed) throw new Error(fc.defaultReportMessage(played))
    return played.numRuns
  } finally {
    for (const client of clients) {
      await client.query('rollback')
      client.release()
    }
  }
}

function apply(
  committed: Map<string, Quote>,
  changes: Map<string, Quote | null>,
): Map<string, Quote> {
  const after = new Map(committed)
  for (const [number, quote] of changes) {
    if (quote) after.set(number, quote)
    else after.delete(number)
  }
  return after
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

async function write(
  client: PoolClient,
  step: Extract<Step, { kind: 'insert' | 'update' | 'delete' }>,
  visible: Map<string, Quote>,
  changes: Map<string, Quote | null>,
): Promise<void> {
  const own = [...visible.keys()].filter((number) => number.startsWith(`${step.writer}-`))
  if (step.kind === 'insert') {
    const quotes = step.quotes.map((quote, place) => ({
      ...quote,
      number: `${step.writer}-${visible.size}-${place}-${changes.size}`,
    }))
    const fresh = quotes.filter(({ number }) => !visible.has(number) && !changes.has(number))
    if (fresh.length === 0) return
    // One statement for all of them, so that a statement changes several cells.
    await client.query(
      `insert into quotes (number, ${columns.join(', ')}, gross)
      select *, net from jsonb_to_recordset($1) as q (number text, status text, country text, currency text, rate numeric, issued_on date,
        valid_until date, decided_on date, net numeric)`,
      [JSON.stringify(fresh)],
    )
    for (const quote of fresh) changes.set(quote.number, quote)
    return
  }
  const number = own[step.number % Math.max(1, own.length)]
  if (number === undefined) return
  if (step.kind === 'delete') {
    await client.query('delete from quotes where number = $1', [number])
    changes.set(number, null)
    return
  }
  await client.query(
    `update quotes set ${columns.map((column, place) => `${column} = $${place + 2}`).join(', ')}, gross = $9::numeric where number = $1`,
    [number, ...columns.map((column) => step.quote[column])],
  )
  changes.set(number, { ...step.quote, number })
}

type Query = {
  date: 'issued' | 'accepted'
  country: string | undefined
  bounds: [number, number] | null
  compare: 'previous_period' | 'previous_year' | undefined
}

async function ask(
  db: Database,
  quotes: Quote[],
  { date, country, bounds: drawn, compare: compared }: Query,
  day: number,
): Promise<void> {
  const today = dayAfter('2025-11-01', day)
  const bounds =
    drawn &&
    ([...drawn].sort((a, b) => a - b).map((days) => dayAfter('2025-11-01', days)) as [
      string,
      string,
    ])
  const { stats: figures } = await readStats(db, company, {
    today,
    date,
    ...(country && { country }),
    ...(bounds && { from: bounds[0], to: bounds[1] }),
    ...(compared && { compare: compared }),
  })
  compare(figures, quotes, { today, date, country, bounds, compare: compared })
}
