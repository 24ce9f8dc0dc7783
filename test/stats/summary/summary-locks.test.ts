// The locks of the summary: readers, folds, rebuilds, truncates, drift checks and writers wait for
// each other at most until a transaction ends, and never deadlock.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { type Database, openDatabase } from '../../../src/database/postgres-pool.ts'
import { assembleStats, readStats } from '../../../src/stats/read-stats.ts'
import {
  checkNextMonth,
  findSummaryDifferences,
  rebuildSummary,
} from '../../../src/stats/summary/check-months.ts'
import { foldStatistics, foldUntilCurrent } from '../../../src/stats/summary/fold-statistics.ts'
import { prepareSnapshot } from '../../../src/stats/summary/summary-query.ts'
import { readSummaryState } from '../../../src/stats/summary/summary-state.ts'
import { company } from '../../support/database/company.ts'
import { type emptyDatabase, testDatabase } from '../../support/database/test-database.ts'
import { isAnySessionWaiting } from '../../support/database/waiting-sessions.ts'
import { eventually } from '../../support/eventually.ts'
import { insertCustomers, insertQuotes } from '../insert-quotes.ts'
import { buildQuote } from '../quote-builder.ts'

// Each test has its own database.
t.jobs = 2

const durationMs = 4_000
const request = { date: 'issued' } as const
const lines = [
  { sku: 'A', net: '1' },
  { sku: null, net: '2' },
]

t.test(
  'readers, writers, folds, rebuilds and truncates never fail because of each other',
  async (t) => {
    const { db, url } = await testDatabase(t)
    const busy = openBusyDatabase(t, url)
    const activities = {
      'a slow reader': () => readSlowly(busy, 1_000),
      'a slower reader': () => readSlowly(busy, 2_000),
      'a reader': () => readStats(busy, company, request),
      'another reader': () => readStats(busy, company, request),
      'a reader of customers': () => readStats(busy, company, { ...request, by: 'customer' }),
      'a reader of products': () => readStats(busy, company, { ...request, by: 'product' }),
      'a slow reader of products': () => readSlowly(busy, 1_500, 'product'),
      'a writer of lines': () => writeLines(busy),
      'a writer of names': () => writeNames(busy),
      'a truncate of lines': () => sql`truncate quote_lines`.execute(busy).then(() => sleep(600)),
      'a fold': () => foldStatistics(busy),
      'a fold of another process': () => foldStatistics(busy, 3),
      'a rebuild': () => rebuildSummary(busy).then(() => sleep(100)),
      'a change of the company': () => recordCompanyAgain(busy).then(() => sleep(700)),
      'a `verify`': () => findSummaryDifferences(busy),
      'a check of a month': () => checkNextMonth(busy, 0),
      'a poll': () => readSummaryState(busy),
      'a truncate': () => truncateSlowly(busy).then(() => sleep(400)),
      'a writer of few quotes': () => writeFew(busy),
      'a writer of many quotes': () => writeMany(busy),
      'a writer with a long transaction': () => writeForLong(busy),
    }
    const counts = await repeatAll(activities)
    for (const [name, { count, errors }] of Object.entries(counts)) {
      t.ok(count > 0, `${name}: ${count} times`)
      t.same(errors, [], `${name}: no errors`)
    }
    await foldUntilCurrent(db)
    t.same(await findSummaryDifferences(db), [])
    const { quotes } = await db
      .selectFrom('quotes')
      .select(({ fn }) => fn.countAll().as('quotes'))
      .executeTakeFirstOrThrow()
    t.equal((await readStats(db, company, request)).stats.quotes.total, Number(quotes))
  },
)

t.test('a partly locked truncate never deadlocks with readers, checks or folding', async (t) => {
  const { db } = await testDatabase(t)
  await insertQuotes(db, [buildQuote('1', { lines })])
  const others = {
    'a check': () => checkNextMonth(db, 0),
    'a fold': () => foldStatistics(db),
    'a reader': () => readStats(db, company, { ...request, by: 'product' }),
  }
  // The order in which a truncate locks.
  const steps = [
    'lock table quotes in access exclusive mode',
    'lock table quote_lines in access exclusive mode',
    'select pg_advisory_xact_lock(fold_lock())',
  ]
  for (const [name, run] of Object.entries(others)) {
    for (let held = 1; held < steps.length; held += 1) {
      await db
        .updateTable('quotes')
        .set({ net: String(held), gross: String(held) })
        .execute()
      const truncate = await db.startTransaction().execute()
      for (const step of steps.slice(0, held)) await sql.raw(step).execute(truncate)
      let isDone = false
      const running = run().then(() => {
        isDone = true
      })
      await eventually(async () => isDone || (await isAnySessionWaiting(db)), Boolean)
      for (const step of steps.slice(held)) await sql.raw(step).execute(truncate)
      await truncate.rollback().execute()
      await running
    }
    t.pass(name)
  }
})

/** Opens connections on which a deadlock is found at once. Later, others might have ended. */
function openBusyDatabase(t: Parameters<typeof emptyDatabase>[0], url: string): Database {
  const options = new URL(url)
  options.searchParams.set('options', '-c deadlock_timeout=20ms')
  const db = openDatabase(options.href, { connections: 20, connectionTimeoutMs: 60_000 })
  t.teardown(() => db.destroy())
  return db
}

/** Repeats every activity, all at the same time, until each one happened at least twice. */
async function repeatAll(activities: Record<string, () => Promise<unknown>>) {
  const end = performance.now() + durationMs
  const counts = Object.fromEntries(
    Object.keys(activities).map((name) => [name, { count: 0, errors: [] as string[] }]),
  )
  const isRunning = () =>
    performance.now() < end ||
    Object.values(counts).some(({ count, errors }) => count + errors.length < 2)
  const repeat = async (name: string, activity: () => Promise<unknown>) => {
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
  await Promise.all(Object.entries(activities).map(([name, activity]) => repeat(name, activity)))
  return counts
}

/** Reads the same snapshot twice. Throws if the statistics differ. */
async function readSlowly(db: Database, pauseMs: number, by?: 'product'): Promise<void> {
  const request = { date: 'issued', ...(by && { by }) } as const
  await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (transaction) => {
      await prepareSnapshot(transaction, request)
      const { today } = await readSummaryState(transaction)
      const dated = { ...request, today }
      const read = async () => JSON.stringify(await assembleStats(transaction, company, dated))
      const before = await read()
      await sleep(pauseMs)
      if ((await read()) !== before) throw new Error('The statistics of a snapshot changed')
    })
}

/** Its trigger rebuilds the summary. */
const recordCompanyAgain = (db: Database) =>
  sql`
    update company set base_currency = case base_currency when 'EUR' then 'USD' else 'EUR' end
  `.execute(db)

async function truncateSlowly(db: Database): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await insertQuotes(transaction, [buildQuote(nextNumber(), { lines })])
    await sql`truncate quotes cascade`.execute(transaction)
    await sleep(100)
    await insertQuotes(transaction, [buildQuote(nextNumber(), { lines })])
  })
}

async function writeFew(db: Database): Promise<void> {
  const number = nextNumber()
  await insertQuotes(db, [buildQuote(number, {})])
  const update = db.updateTable('quotes').set({ net: '7', gross: '7' })
  await update.where('number', '=', number).execute()
  if (number.endsWith('0')) await db.deleteFrom('quotes').where('number', '=', number).execute()
}

/** Accepts a quote, changes its lines and deletes some. */
async function writeLines(db: Database): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await writeLinesOf(transaction, nextNumber())
  })
}

async function writeLinesOf(db: Database, number: string): Promise<void> {
  await insertQuotes(db, [buildQuote(number, { status: 'sent', decided_on: null, lines })])
  await db.updateTable('quotes').set({ status: 'accepted' }).where('number', '=', number).execute()
  const quote = db.selectFrom('quotes').select('id').where('number', '=', number)
  await db.updateTable('quote_lines').set({ net: '3' }).where('quote_id', '=', quote).execute()
  await db
    .deleteFrom('quote_lines')
    .where('quote_id', '=', quote)
    .where('sku', 'is', null)
    .execute()
}

async function writeNames(db: Database): Promise<void> {
  await insertCustomers(db, ['1'])
  await db.updateTable('customers').set({ name: nextNumber() }).execute()
  await db.insertInto('products').values({ sku: nextNumber(), name: 'x' }).execute()
}

const manyQuotes = (length = 250) =>
  Array.from({ length }, () => buildQuote(nextNumber(), { lines }))

async function writeMany(db: Database): Promise<void> {
  const quotes = manyQuotes()
  const numbers = quotes.map(({ number }) => number)
  await insertQuotes(db, quotes)
  await db.updateTable('quotes').set({ country: 'FR' }).where('number', 'in', numbers).execute()
  await db.deleteFrom('quotes').where('number', 'in', numbers).execute()
}

async function writeForLong(db: Database): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const number = nextNumber()
    await insertQuotes(transaction, [buildQuote(number, {})])
    await sleep(200)
    await writeMany(transaction)
    await sleep(200)
    await transaction
      .updateTable('quotes')
      .set({ status: 'rejected' })
      .where('number', '=', number)
      .execute()
  })
}

let lastNumber = 0
const nextNumber = () => `Q${++lastNumber}`
