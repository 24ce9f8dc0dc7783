// The locks of the summary: readers, folds, rebuilds, truncates, drift checks and writers wait for
// each other at most until a transaction ends, and never deadlock.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { type Database, openDatabase } from '../../../src/database/postgres-pool.ts'
import { assembleStats, readStats } from '../../../src/stats/read-stats.ts'
import { readVersion } from '../../../src/stats/summary/data-version.ts'
import { checkNextMonth } from '../../../src/stats/summary/drift-check.ts'
import { foldBatch, readUnfoldedChanges } from '../../../src/stats/summary/fold-changes.ts'
import { prepareSnapshot, summaryTables } from '../../../src/stats/summary/prepare-snapshot.ts'
import {
  findSummaryDifferences,
  rebuildSummary,
} from '../../../src/stats/summary/verify-and-rebuild.ts'
import { company } from '../../support/database/company.ts'
import { type emptyDatabase, testDatabase } from '../../support/database/test-database.ts'
import { isAnySessionWaiting } from '../../support/database/waiting-sessions.ts'
import { eventually } from '../../support/eventually.ts'
import { insertCustomers, insertQuotes } from '../insert-quotes.ts'
import { buildQuote } from '../quote-builder.ts'

// Each test has its own database.
t.jobs = 2

const durationMs = 4_000
const today = { today: '2026-11-21' }
const request = { date: 'issued', ...today } as const
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
      'a fold': () => foldBatch(busy),
      'a fold of another process': () => sql`select fold_quote_changes(3)`.execute(busy),
      'a rebuild': () => rebuildSummary(busy).then(() => sleep(100)),
      'a change of the company': () => recordCompanyAgain(busy).then(() => sleep(700)),
      'a `verify`': () => findSummaryDifferences(busy),
      'a drift check': () => checkNextMonth(busy, 0),
      'a count of the changes that wait': () => readUnfoldedChanges(busy),
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
    t.same(await findSummaryDifferences(db), [])
    const { quotes } = await db
      .selectFrom('quotes')
      .select(({ fn }) => fn.countAll().as('quotes'))
      .executeTakeFirstOrThrow()
    t.equal((await readStats(db, company, request)).stats.quotes.total, Number(quotes))
  },
)

t.test('a partly locked truncate never deadlocks with readers, writers or folding', async (t) => {
  const { db } = await testDatabase(t)
  const lock = (transaction: Database, table: string) =>
    sql`lock table ${sql.id(table)} in access exclusive mode`.execute(transaction)
  // The order in which a truncate locks.
  const tables = ['quotes', 'quote_lines', 'quote_summary', 'quote_changes', 'quote_figures']
  const readers = {
    'the drift check': () => checkNextMonth(db, 0),
    'the count of the changes that wait': () => readUnfoldedChanges(db),
    'a reader': () => readStats(db, company, request),
  }
  for (const [name, read] of Object.entries(readers)) {
    for (let held = 1; held < tables.length; held += 1) {
      const truncate = await db.startTransaction().execute()
      for (const table of tables.slice(0, held)) await lock(truncate, table)
      let isRead = false
      const reading = read().then(() => {
        isRead = true
      })
      await eventually(async () => isRead || (await isAnySessionWaiting(db)), Boolean)
      for (const table of tables.slice(held)) await lock(truncate, table)
      await truncate.rollback().execute()
      await reading
    }
    t.pass(name)
  }
})

t.test(
  'statistics lock the tables in the same order as the functions that write them',
  async (t) => {
    const { db } = await testDatabase(t)
    const functions = [
      'empty_quote_summary',
      'find_summary_differences',
      'fold_quote_changes',
      'rebuild_quote_summary',
    ]
    const { rows } = await sql<{ name: string; text: string }>`
    select proname as name, prosrc as text from pg_proc
    where proname = any (${functions}) order by proname
  `.execute(db)
    t.same(
      rows.map(({ name }) => name),
      functions,
    )
    for (const { name, text } of rows) {
      const [, tables] =
        /lock table [^;]*?(quote_summary,[^;]*?)\s+in [a-z ]+ mode;/.exec(text) ?? []
      t.same(
        tables?.split(/,\s*/),
        summaryTables,
        `if this fails, \`lock table\` in the SQL function ${name} has other tables, or another ` +
          'order, than summaryTables',
      )
    }
  },
)

t.test('statistics read no table that was not locked before', async (t) => {
  const { db } = await testDatabase(t)
  await insertCustomers(db, ['1'])
  await insertQuotes(db, [buildQuote('1', { customer_id: '1', lines })])
  // A truncate of the currencies truncates the quotes too, and waits for a lock on the summary. One
  // of the products changes only names, which are those of now.
  const unlocked = ['currencies', 'products']
  for (const by of [undefined, 'day', 'customer', 'product'] as const) {
    // Parts of months, for which customers and products are computed from the quotes.
    const period = { from: '2026-03-05', to: '2026-04-25', compare: 'previous_year' } as const
    const requestOfPeriod = { ...request, ...period, ...(by && { by }) }
    await db.transaction().execute(async (transaction) => {
      await prepareSnapshot(transaction, requestOfPeriod)
      const lockedBefore = await listLockedTables(transaction)
      await readVersion(transaction)
      await assembleStats(transaction, company, requestOfPeriod)
      const locked = await listLockedTables(transaction)
      const added = locked.filter((table) => !lockedBefore.includes(table))
      t.same(added, by === 'product' ? unlocked : ['currencies'], `by ${by}`)
    })
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
  const request = { ...today, date: 'issued', ...(by && { by }) } as const
  await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (transaction) => {
      await prepareSnapshot(transaction, request)
      const read = async () => JSON.stringify(await assembleStats(transaction, company, request))
      const before = await read()
      await sleep(pauseMs)
      if ((await read()) !== before) throw new Error('The statistics of a snapshot changed')
    })
}

/** Its trigger rebuilds the summary. */
const recordCompanyAgain = (db: Database) =>
  sql`update company set base_currency = base_currency`.execute(db)

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

/** Returns the tables on which the transaction holds locks. Catalogues and indexes are left out. */
async function listLockedTables(transaction: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_locks l join pg_class c on c.oid = l.relation
    where l.pid = pg_backend_pid() and c.relkind in ('r', 'p')
      and c.relnamespace = 'public'::regnamespace
    group by c.relname order by c.relname
  `.execute(transaction)
  return rows.map(({ name }) => name)
}
