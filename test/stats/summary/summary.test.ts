// The summary as a whole: random histories, the local day and the base currency.
import { sql } from 'kysely'
import t from 'tap'
import { recordCompany } from '../../../src/company/company-record.ts'
import { type Database, openDatabase } from '../../../src/database/postgres-pool.ts'
import { migrate } from '../../../src/database/run-migrations.ts'
import { findSummaryDifferences } from '../../../src/stats/summary/check-months.ts'
import { readSummaryState } from '../../../src/stats/summary/summary-state.ts'
import { company } from '../../support/database/company.ts'
import { emptyDatabase, testDatabase } from '../../support/database/test-database.ts'
import { untilWaitingOrEnded } from '../../support/database/waiting-sessions.ts'
import { insertCustomers, insertQuotes } from '../insert-quotes.ts'
import { buildQuote, type Quote } from '../quote-builder.ts'
import { checkHistories } from '../random-histories/random-quote-histories.ts'
import { foldedStats } from '../stats-service.ts'

// Each test has its own database.
t.jobs = 3

const versionOf = async (db: Database) => (await readSummaryState(db)).version.number

t.test(
  'the statistics are as expected at any moment of random histories of transactions and snapshots',
  async (t) => {
    const { db, pool } = await testDatabase(t)
    t.equal(await checkHistories({ db, pool }, { numRuns: 20, seed: 20_261_121 }), 20)
  },
)

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

t.test('recording the company folds the quotes that were written earlier', async (t) => {
  const db = openDatabase(await emptyDatabase(t))
  t.teardown(() => db.destroy())
  await migrate(db)
  await insertCustomers(db, ['1'])
  t.same(await db.deleteFrom('customers').execute(), [{ numDeletedRows: 1n }])
  await insertQuotes(db, [
    buildQuote('1', {}),
    buildQuote('2', { currency: 'USD', rate: '0.925', net: '10.05' }),
  ])
  t.equal(await versionOf(db), 0, 'nothing is folded without a base currency')
  await recordCompany(db, company)
  t.equal((await foldedStats(db)).revenue.total.amount, '109.30')
  const before = await versionOf(db)
  await recordCompany(db, { ...company, seller: { ...company.seller, phone: '+34 900 000 001' } })
  t.equal(await versionOf(db), before, 'a changed seller does not rebuild the summary')
})

t.test('a changed base currency waits for quotes that are being written', async (t) => {
  const { db, pool } = await testDatabase(t)
  const setCurrency = (code: string) => pool.query(`update company set base_currency = '${code}'`)
  const write = async (quotes: Quote[]) => {
    const writer = await db.startTransaction().execute()
    await insertQuotes(writer, quotes)
    const changing = setCurrency('USD')
    await untilWaitingOrEnded(db, changing)
    await writer.commit().execute()
    await changing
  }
  await write(['1', '2'].map((number) => buildQuote(number, { currency: 'USD', rate: '1' })))
  t.same(await findSummaryDifferences(db), [], 'and applies to them')
  await setCurrency('EUR')
  await t.rejects(write([buildQuote('3', { currency: 'USD', rate: '0.5' })]), {
    message: '1 quotes in the base currency, USD, have another rate than 1',
  })
  t.same(await findSummaryDifferences(db), [])
})
