import { sql } from 'kysely'
import type { PoolClient } from 'pg'
import t from 'tap'
import { recordCompany } from '../../../src/company/company-record.ts'
import { type Database, openDatabase, openPool } from '../../../src/database/postgres-pool.ts'
import { migrate } from '../../../src/database/run-migrations.ts'
import { readStats } from '../../../src/stats/read-stats.ts'
import type { StatsWithoutAsOf } from '../../../src/stats/schema.ts'
import { findSummaryDifferences, rebuildSummary } from '../../../src/stats/summary/check-months.ts'
import { foldStatistics } from '../../../src/stats/summary/fold-statistics.ts'
import { readSummaryState } from '../../../src/stats/summary/summary-state.ts'
import { company } from '../../support/database/company.ts'
import { setLocalToday } from '../../support/database/local-today.ts'
import { emptyDatabase, testDatabase } from '../../support/database/test-database.ts'
import { isAnySessionWaiting } from '../../support/database/waiting-sessions.ts'
import { eventually } from '../../support/eventually.ts'
import { insertQuotes, insertUnfoldedQuotes } from '../insert-quotes.ts'
import { buildQuote } from '../quote-builder.ts'
import { checkHistories } from '../random-histories/random-quote-histories.ts'
import { assertExpectedStats } from '../reference-stats.ts'

// Each test has its own database.
t.jobs = 3

const allQuotes = { date: 'issued', country: undefined, bounds: null } as const

/** Folds, and returns the statistics. */
async function statsOf(db: Database): Promise<StatsWithoutAsOf> {
  await foldStatistics(db)
  return (await readStats(db, company, { date: 'issued' })).stats
}

const versionOf = async (db: Database) => (await readSummaryState(db)).version.number

t.test(
  'the statistics are as expected at any moment of random histories of transactions and snapshots',
  async (t) => {
    const { db, pool } = await testDatabase(t)
    t.equal(await checkHistories({ db, pool }, { numRuns: 20, seed: 20_261_121 }), 20)
  },
)

t.test(
  'two open transactions on the same rows of the summary block neither each other nor a fold',
  async (t) => {
    const { db, pool } = await testDatabase(t)
    await insertQuotes(db, [buildQuote('1', {}), buildQuote('2', {})])
    const [first, second] = [await pool.connect(), await pool.connect()]
    try {
      for (const client of [first, second])
        await client.query("begin; set local statement_timeout = '2s'")
      await first.query("update quotes set net = 200, gross = 200 where number = '1'")
      await second.query("update quotes set net = 300, gross = 300 where number = '2'")
      await addQuote(second, '4')
      await addQuote(first, '3')
      t.equal((await statsOf(db)).revenue.total.amount, '200.00', 'only committed changes')
      await second.query('commit')
      await first.query("delete from quotes where number = '3'")
      await first.query('commit')
    } finally {
      for (const client of [first, second]) client.release()
    }
    t.equal((await statsOf(db)).revenue.total.amount, '600.00')
    t.same(await findSummaryDifferences(db), [])
  },
)

t.test('every fold with changes, even late ones, is another version', async (t) => {
  const { db, pool } = await testDatabase(t)
  const late = await pool.connect()
  try {
    await late.query('begin')
    await addQuote(late, 'late')
    await insertQuotes(db, [buildQuote('early', {})])
    const before = await versionOf(db)
    await foldStatistics(db)
    t.equal(await versionOf(db), before, 'nothing to fold')
    await db.updateTable('quotes').set({ notes: 'not part of any statistic' }).execute()
    t.equal((await readSummaryState(db)).isFoldDue, false, 'notes change no statistic')
    await late.query('commit')
    t.equal((await readSummaryState(db)).isFoldDue, true, 'an id from before the fold')
    t.equal((await statsOf(db)).quotes.total, 2)
    t.ok((await versionOf(db)) > before)
  } finally {
    late.release()
  }
})

t.test('a sent quote expires at midnight without a write', async (t) => {
  const { db } = await testDatabase(t)
  const sent = (number: string, valid_until: string) =>
    buildQuote(number, { status: 'sent', decided_on: null, valid_until })
  const quotes = [
    sent('1', '2026-10-31'),
    sent('2', '2026-11-20'),
    sent('3', '2026-11-21'),
    sent('4', '2026-12-01'),
    buildQuote('5', {}),
  ]
  await setLocalToday(db, '2026-10-31')
  await insertQuotes(db, quotes)
  for (const day of [
    '2026-10-31',
    '2026-11-01',
    '2026-11-20',
    '2026-11-21',
    '2026-11-22',
    '2026-12-01',
    '2026-12-02',
  ]) {
    await sql`update test_today set day = ${day}`.execute(db)
    assertExpectedStats(await statsOf(db), quotes, { ...allQuotes, today: day })
  }
  t.equal((await statsOf(db)).quotes.byStatus.expired, 4)
  await db.updateTable('quotes').set({ status: 'accepted' }).where('number', '=', '1').execute()
  t.equal((await statsOf(db)).quotes.byStatus.expired, 3, 'accepted after its last valid day')
})

t.test('the local day is that of the company, at any moment', async (t) => {
  const { db } = await testDatabase(t)
  const { rows } = await sql<{ definition: string }>`
    select pg_get_functiondef('local_today'::regproc) as definition
  `.execute(db)
  const definition = rows[0]?.definition ?? ''
  for (const [timeZone, lastDay, nextDayAt] of [
    ['Pacific/Kiritimati', '2026-11-21', '2026-11-21T10:00:00Z'],
    ['Pacific/Pago_Pago', '2026-11-21', '2026-11-22T11:00:00Z'],
    ['Europe/Madrid', '2026-03-29', '2026-03-29T22:00:00Z'], // a day of 23 hours
    ['America/Los_Angeles', '2026-11-01', '2026-11-02T08:00:00Z'], // a day of 25 hours
    ['America/Santiago', '2026-04-04', '2026-04-05T04:00:00Z'], // its last hour occurs twice
    ['America/Santiago', '2026-09-05', '2026-09-06T04:00:00Z'], // the next day begins at 01:00
    ['Asia/Kolkata', '2026-12-31', '2026-12-31T18:30:00Z'],
  ] as const) {
    await db.updateTable('company').set({ time_zone: timeZone }).execute()
    // The function itself, at another moment.
    const todayAt = async (milliseconds: number) => {
      const moment = `'${new Date(milliseconds).toISOString()}'::timestamptz`
      await sql.raw(definition.replace('now()', moment)).execute(db)
      return (await sql<{ day: string }>`select local_today() as day`.execute(db)).rows[0]?.day
    }
    const midnight = Date.parse(nextDayAt)
    t.equal(await todayAt(midnight - 1), lastDay, `${timeZone}, before its end`)
    t.not(await todayAt(midnight), lastDay, `${timeZone}, the first moment after ${lastDay}`)
  }
})

t.test('truncating the quotes empties the statistics, and a rollback restores both', async (t) => {
  const { db, pool } = await testDatabase(t)
  await insertQuotes(db, [buildQuote('1', {}), buildQuote('2', {})])
  await insertUnfoldedQuotes(db, [buildQuote('3', {})])
  const client = await pool.connect()
  await client.query('begin; truncate quotes cascade; rollback')
  client.release()
  t.equal((await statsOf(db)).quotes.total, 3)
  const before = await versionOf(db)
  await sql`truncate quotes cascade`.execute(db)
  t.equal((await readStats(db, company, { date: 'issued' })).stats.quotes.total, 0, 'at once')
  t.not(await versionOf(db), before)
  await insertQuotes(db, [buildQuote('4', {})])
  t.equal((await statsOf(db)).quotes.total, 1)
})

t.test(
  'quotes that a transaction writes after a truncate, rebuild or fold of its own are counted',
  async (t) => {
    const { db, pool } = await testDatabase(t)
    await insertQuotes(db, [buildQuote('1', {})])
    const client = await pool.connect()
    try {
      for (const [statement, total] of [
        ['select fold_statistics()', 2],
        ['select rebuild_summary()', 3],
        ['truncate quotes cascade', 1],
      ] as const) {
        await client.query('begin')
        // The transaction has an id before another one completes, so it is not the newest.
        await client.query('select pg_current_xact_id()')
        await insertCustomer(db)
        await client.query(statement)
        await addQuote(client, `after ${statement}`)
        await client.query('commit')
        t.equal((await statsOf(db)).quotes.total, total, statement)
        t.same(await findSummaryDifferences(db), [], statement)
      }
    } finally {
      client.release()
    }
  },
)

t.test(
  'recording the company builds the summary of the quotes that were written earlier',
  async (t) => {
    const url = await emptyDatabase(t)
    const db = openDatabase(url)
    const pool = openPool(url)
    t.teardown(async () => {
      await db.destroy()
      await pool.end()
    })
    await migrate(db)
    await db.insertInto('customers').values({ name: 'Any customer' }).execute()
    await db.deleteFrom('customers').execute()
    t.pass('a customer without quotes can be deleted')
    await insertQuotes(db, [
      buildQuote('1', {}),
      buildQuote('2', { currency: 'USD', rate: '0.925', net: '10.05' }),
    ])
    t.equal(await versionOf(db), 0, 'nothing is folded without a base currency')
    await recordCompany(db, company)
    t.equal((await statsOf(db)).revenue.total.amount, '109.30')
    const before = await versionOf(db)
    await recordCompany(db, { ...company, seller: { ...company.seller, phone: '+34 900 000 001' } })
    t.equal(await versionOf(db), before, 'a changed seller does not rebuild the summary')
  },
)

t.test('a changed base currency waits for quotes that are being written', async (t) => {
  const { db, pool } = await testDatabase(t)
  const change = () => pool.query("update company set base_currency = 'USD'")
  const withRateOne = Array.from({ length: 250 }, (_, n) =>
    buildQuote(String(n), { currency: 'USD', rate: '1' }),
  )
  await runWhileQuotesAreWritten(db, withRateOne, change)
  t.same(await findSummaryDifferences(db), [], 'and applies to them')

  await pool.query("update company set base_currency = 'EUR'")
  const withAnotherRate = [buildQuote('dollars', { currency: 'USD', rate: '0.5' })]
  await t.rejects(runWhileQuotesAreWritten(db, withAnotherRate, change), {
    message: '1 quotes in the base currency, USD, have another rate than 1',
  })
  t.same(await findSummaryDifferences(db), [])
})

t.test('a rate that changes during a rebuild counts once', async (t) => {
  const { db } = await testDatabase(t)
  const dollars = (length: number) =>
    Array.from({ length }, (_, n) =>
      buildQuote(`${length}-${n}`, {
        currency: 'USD',
        rate: '0.5',
        lines: [{ sku: 'A', net: '1' }],
      }),
    )
  const revenue = async () => (await statsOf(db)).revenue.total.amount
  for (const [length, before, after] of [
    [1, '50.00', '100.00'],
    [250, '12600.00', '25100.00'],
  ] as const) {
    await insertQuotes(db, dollars(length))
    const writer = await db.startTransaction().execute()
    await writer
      .updateTable('quotes')
      .set({ rate: '1' })
      .where('number', 'like', `${length}-%`)
      .execute()
    await rebuildSummary(db)
    t.equal(await revenue(), before, 'while the change is not committed')
    await writer.commit().execute()
    t.equal(await revenue(), after)
    t.same(await findSummaryDifferences(db), [])
  }
})
t.test(
  'verification finds changes made with disabled triggers, and a rebuild corrects them',
  async (t) => {
    const { db } = await testDatabase(t)
    await insertQuotes(db, [
      buildQuote('1', {}),
      buildQuote('2', { status: 'sent', decided_on: null, valid_until: '2026-04-01' }),
    ])
    t.same(await findSummaryDifferences(db), [])
    await sql`alter table quotes disable trigger user`.execute(db)
    await db
      .updateTable('quotes')
      .set({ net: '100.01', gross: '100.01' })
      .where('number', '=', '1')
      .execute()
    await db
      .updateTable('quotes')
      .set({ valid_until: '2026-04-02' })
      .where('number', '=', '2')
      .execute()
    await sql`alter table quotes enable trigger user`.execute(db)
    const differences = (await findSummaryDifferences(db)).toSorted()
    t.same(differences, [
      'customer_figures: month accepted 2026-04-01 ES EUR',
      'customer_figures: month issued 2026-03-01 ES EUR',
      'quote_figures: day accepted 2026-04-02 ES EUR',
      'quote_figures: day issued 2026-03-10 ES EUR',
      'quote_figures: day_total accepted 2026-04-02 unknown EUR',
      'quote_figures: day_total issued 2026-03-10 unknown EUR',
      'quote_figures: month accepted 2026-04-01 ES EUR',
      'quote_figures: month issued 2026-03-01 ES EUR',
      'quote_figures: month_total accepted 2026-04-01 unknown EUR',
      'quote_figures: month_total issued 2026-03-01 unknown EUR',
    ])
    await rebuildSummary(db)
    t.same(await findSummaryDifferences(db), [])
    await insertQuotes(db, [buildQuote('3', {})])
    t.same(await findSummaryDifferences(db), [], 'the enabled triggers count a quote once')
  },
)

t.test('the summary contains no empty rows', async (t) => {
  const { db } = await testDatabase(t)
  await insertQuotes(db, [
    buildQuote('1', { lines: [{ sku: 'A', net: '1' }] }),
    buildQuote('2', { status: 'sent', decided_on: null, valid_until: '2026-04-01' }),
  ])
  await db.deleteFrom('quotes').execute()
  await foldStatistics(db)
  const tables = ['quote_changes', 'quote_figures', 'customer_figures', 'product_figures'] as const
  for (const table of tables) {
    t.same(await db.selectFrom(table).selectAll().execute(), [], table)
  }
})

/** Runs `change` while a transaction that has inserted quotes is open, which ends when it waits. */
async function runWhileQuotesAreWritten(
  db: Database,
  quotes: Parameters<typeof insertQuotes>[1],
  change: () => Promise<unknown>,
): Promise<void> {
  let isDone = false
  const { changed } = await db.transaction().execute(async (writer) => {
    await insertQuotes(writer, quotes)
    // The change may fail before the commit is confirmed here.
    const changed = Promise.allSettled([change()]).then(([outcome]) => {
      isDone = true
      return outcome
    })
    await eventually(async () => isDone || (await isAnySessionWaiting(db)), Boolean)
    return { changed }
  })
  const outcome = await changed
  if (outcome.status === 'rejected') throw outcome.reason
}

async function addQuote(client: PoolClient, number: string): Promise<void> {
  await client.query(
    `insert into quotes (number, status, country, currency, rate, issued_on, decided_on, net, gross)
    values ($1, 'accepted', 'ES', 'EUR', 1, '2026-03-10', '2026-04-02', 100, 100)`,
    [number],
  )
}

const insertCustomer = (db: Database) =>
  db
    .insertInto('customers')
    .values({ name: 'Any customer' })
    .onConflict((c) => c.doNothing())
    .execute()
