// The locks of the summary: readers, folds, rebuilds, truncates, checks and writers wait for each
// other at most until a transaction ends, and never deadlock.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { type Database, openDatabase } from '../../../src/database/postgres-pool.ts'
import { assembleStats } from '../../../src/stats/read-stats.ts'
import {
  checkNextMonth,
  findSummaryDifferences,
  rebuildSummary,
} from '../../../src/stats/summary/check-months.ts'
import { foldStatistics, foldUntilCurrent } from '../../../src/stats/summary/fold-statistics.ts'
import { prepareSnapshot } from '../../../src/stats/summary/summary-query.ts'
import { readSummaryState } from '../../../src/stats/summary/summary-state.ts'
import { company } from '../../support/database/company.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { untilWaitingOrEnded } from '../../support/database/waiting-sessions.ts'
import { insertCustomers, insertUnfoldedQuotes } from '../insert-quotes.ts'
import { buildQuote, type Quote } from '../quote-builder.ts'
import { statsOf } from '../stats-service.ts'

const durationMs = 3_000
const lines = [
  { sku: 'A', net: '1' },
  { sku: null, net: '2' },
]
let lastNumber = 0
const newQuotes = (length: number, changes: Partial<Quote> = {}) =>
  Array.from({ length }, () => buildQuote(`Q${++lastNumber}`, { lines, ...changes }))

t.test('no reader, writer, fold, rebuild, check or truncate fails for another', async (t) => {
  const { db, url } = await testDatabase(t)
  // A deadlock is found at once. Later, others might have ended.
  const options = new URL(url)
  options.searchParams.set('options', '-c deadlock_timeout=20ms')
  const busy = openDatabase(options.href, { connections: 20, connectionTimeoutMs: 60_000 })
  t.teardown(() => busy.destroy())
  const counts = await repeatAll({
    ...{ reader: () => statsOf(busy), 'another reader': () => statsOf(busy) },
    'reader of customers': () => statsOf(busy, { by: 'customer' }),
    'reader of products': () => statsOf(busy, { by: 'product' }),
    'slow reader': () => readSlowly(busy, 1_000),
    'slow reader of products': () => readSlowly(busy, 1_500, 'product'),
    poll: () => readSummaryState(busy),
    fold: () => foldStatistics(busy),
    'fold of another process': () => foldStatistics(busy, 3),
    rebuild: () => rebuildSummary(busy).then(() => sleep(100)),
    verify: () => findSummaryDifferences(busy),
    'check of a month': () => checkNextMonth(busy, 0),
    // Its trigger rebuilds the summary.
    'change of the company': () =>
      sql`
        update company set base_currency = case base_currency when 'EUR' then 'USD' else 'EUR' end
      `
        .execute(busy)
        .then(() => sleep(700)),
    truncate: () => inTransaction(busy, truncateSlowly).then(() => sleep(400)),
    'truncate of lines': () => sql`truncate quote_lines`.execute(busy).then(() => sleep(600)),
    'writer of few quotes': () => write(busy, newQuotes(1)),
    'writer of many quotes': () => write(busy, newQuotes(250)),
    'writer of lines': () => inTransaction(busy, writeLines),
    'writer of names': () => writeNames(busy),
    'writer with a long transaction': () => inTransaction(busy, writeForLong),
  })
  for (const [name, { count, errors }] of Object.entries(counts)) {
    t.ok(count > 0, `${name}: ${count} times`)
    t.same(errors, [], `${name}: no errors`)
  }
  await foldUntilCurrent(db)
  t.same(await findSummaryDifferences(db), [])
  const { rows } = await sql<{ quotes: number }>`
    select count(*)::integer as quotes from quotes
  `.execute(db)
  t.equal((await statsOf(db)).quotes.total, rows[0]?.quotes)
})

t.test('a partly locked truncate never deadlocks with readers, checks or folding', async (t) => {
  const { db } = await testDatabase(t)
  await insertUnfoldedQuotes(db, newQuotes(1))
  // The order in which a truncate locks.
  const steps = [
    'lock table quotes in access exclusive mode',
    'lock table quote_lines in access exclusive mode',
    'select pg_advisory_xact_lock(fold_lock())',
  ]
  for (const run of [
    () => checkNextMonth(db, 0),
    () => foldStatistics(db),
    () => statsOf(db, { by: 'product' }),
  ])
    for (let held = 1; held < steps.length; held += 1) {
      await sql`update quotes set net = ${held}, gross = ${held}`.execute(db)
      const truncate = await db.startTransaction().execute()
      for (const step of steps.slice(0, held)) await sql.raw(step).execute(truncate)
      const running = run()
      await untilWaitingOrEnded(db, running)
      for (const step of steps.slice(held)) await sql.raw(step).execute(truncate)
      await truncate.rollback().execute()
      await running
      t.pass(`${run} while a truncate holds ${held}`)
    }
})

/** Repeats every activity, all at the same time, until each one happened at least twice. */
async function repeatAll(activities: Record<string, () => Promise<unknown>>) {
  const end = performance.now() + durationMs
  const counts = Object.fromEntries(
    Object.keys(activities).map((name) => [name, { count: 0, errors: [] as string[] }]),
  )
  const isRunning = () =>
    performance.now() < end ||
    Object.values(counts).some(({ count, errors }) => count + errors.length < 2)
  const repeat = async ([name, activity]: [string, () => Promise<unknown>]) => {
    const result = counts[name]
    while (result && isRunning() && result.errors.length < 3) {
      try {
        await activity()
        result.count += 1
      } catch (error) {
        result.errors.push(String(error))
      }
      await sleep(5)
    }
  }
  await Promise.all(Object.entries(activities).map(repeat))
  return counts
}

/** Reads the same snapshot twice. Throws if the statistics differ. */
async function readSlowly(db: Database, pauseMs: number, by?: 'product'): Promise<void> {
  await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (transaction) => {
      const request = { date: 'issued', ...(by && { by }) } as const
      await prepareSnapshot(transaction, request)
      const { today } = await readSummaryState(transaction)
      const read = async () =>
        JSON.stringify(await assembleStats(transaction, company, { ...request, today }))
      const before = await read()
      await sleep(pauseMs)
      if ((await read()) !== before) throw new Error('The statistics of a snapshot changed')
    })
}

const inTransaction = (db: Database, run: (transaction: Database) => Promise<void>) =>
  db.transaction().execute(run)

async function truncateSlowly(db: Database): Promise<void> {
  await insertUnfoldedQuotes(db, newQuotes(1))
  await sql`truncate quotes cascade`.execute(db)
  await sleep(100)
  await insertUnfoldedQuotes(db, newQuotes(1))
}

/** Inserts and updates quotes, and deletes all but one of them. */
async function write(db: Database, quotes: Quote[]): Promise<void> {
  const numbers = quotes.map(({ number }) => number)
  await insertUnfoldedQuotes(db, quotes)
  await db.updateTable('quotes').set({ country: 'FR' }).where('number', 'in', numbers).execute()
  await sql`delete from quotes where number = any(${numbers.slice(1)}::text[])`.execute(db)
}

/** Accepts a quote, changes its lines and deletes some. */
async function writeLines(db: Database): Promise<void> {
  const quotes = newQuotes(1, { status: 'sent', decided_on: null })
  await insertUnfoldedQuotes(db, quotes)
  const number = quotes[0]?.number ?? ''
  await db.updateTable('quotes').set({ status: 'accepted' }).where('number', '=', number).execute()
  const ofQuote = sql`quote_id = (select id from quotes where number = ${number})`
  await sql`update quote_lines set net = 3 where ${ofQuote}`.execute(db)
  await sql`delete from quote_lines where ${ofQuote} and sku is null`.execute(db)
}

async function writeNames(db: Database): Promise<void> {
  await insertCustomers(db, ['1'])
  const name = `N${++lastNumber}`
  await db.updateTable('customers').set({ name }).execute()
  await db.insertInto('products').values({ sku: name, name }).execute()
}

async function writeForLong(db: Database): Promise<void> {
  await insertUnfoldedQuotes(db, newQuotes(1))
  await sleep(200)
  await write(db, newQuotes(250))
  await sleep(200)
}
