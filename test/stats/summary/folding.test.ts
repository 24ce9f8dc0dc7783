// Folding in the background: what is folded, what requests get meanwhile, and how failures are
// reported.
import { sql } from 'kysely'
import t from 'tap'
import { openDatabase } from '../../../src/database/postgres-pool.ts'
import { createMetrics } from '../../../src/monitoring/process-metrics.ts'
import type { Stats } from '../../../src/stats/schema.ts'
import { findSummaryDifferences } from '../../../src/stats/summary/check-months.ts'
import { foldStatistics } from '../../../src/stats/summary/fold-statistics.ts'
import { readSummaryState } from '../../../src/stats/summary/summary-state.ts'
import { logins } from '../../support/database/database-roles.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { readMetric } from '../../support/service/read-metric.ts'
import { insertUnfoldedQuotes } from '../insert-quotes.ts'
import { buildQuote } from '../quote-builder.ts'
import { requestStats, statsService } from '../stats-service.ts'

const errorLevel = 50
type LogLine = { level: number; msg: string }

t.test('the first response contains what was written before the process started', async (t) => {
  const database = await testDatabase(t)
  await insertUnfoldedQuotes(database.db, [buildQuote('1', {}), buildQuote('2', {})])
  const service = await statsService(t, { database })
  t.match(await requestStats(service), { status: 200, total: 2, age: 0 })
})

t.test('each failure is counted and logged once per cause, and its end is logged', async (t) => {
  const metrics = createMetrics()
  const lines: LogLine[] = []
  const service = await statsService(t, { metrics, log: (line) => lines.push(JSON.parse(line)) })
  const { db } = service
  t.match(await requestStats(service), { total: 0 })
  const foldLines = () => lines.filter(({ msg }) => /statistics summary/.test(msg))
  const waitForFailures = async () => {
    const before = await readMetric(metrics, 'tqs_stats_fold_failures_total')
    await eventually(
      () => readMetric(metrics, 'tqs_stats_fold_failures_total'),
      (failures) => failures >= before + 3,
    )
  }
  const role = sql.id(logins.api.name)
  const fold = sql`function fold_statistics(integer, pg_snapshot)`
  await sql`revoke execute on ${fold} from ${role}`.execute(db)
  await insertUnfoldedQuotes(db, [buildQuote('1', {})])
  await waitForFailures()
  t.match(foldLines(), [
    { level: errorLevel, msg: /permission denied for function fold_statistics/ },
  ])
  t.equal(foldLines().length, 1, 'one line for several failures')
  const stale = await eventually(
    () => requestStats(service),
    ({ cacheStatus }) => cacheStatus.includes('stale'),
  )
  t.match(stale, { status: 200, total: 0 })
  t.ok(stale.age >= 2, 'the age says that changes are missing')
  t.ok((await readMetric(metrics, 'tqs_stats_lag_seconds')) >= 2)

  await sql`grant execute on ${fold} to ${role}`.execute(db)
  const afterwards = await eventually(
    async () => foldLines().filter(({ level }) => level < errorLevel),
    ({ length }) => length > 0,
  )
  t.match(afterwards, [{ level: 30, msg: /again/ }])
  const current = await eventually(
    () => requestStats(service),
    ({ total }) => total === 1,
  )
  t.match(current, { total: 1, age: 0 })
})

t.test('a statement with more quotes than a batch is folded as a whole', async (t) => {
  const { db } = await testDatabase(t)
  await sql`
    insert into quotes (number, status, country, currency, rate, issued_on, net, gross)
    select n, 'accepted', (array['ES', 'FR'])[1 + n % 2], 'EUR', 1,
      date '2026-01-01' + n % 300, 10, 10 from generate_series(1, 1000) as n
  `.execute(db)
  const before = await readSummaryState(db)
  await foldStatistics(db, 300)
  const after = await readSummaryState(db)
  t.equal(after.version.number, before.version.number + 1, 'one version')
  t.equal(after.isFoldDue, false)
  t.same(await findSummaryDifferences(db), [])
})

t.test('a fold may take longer than other statements of the process', async (t) => {
  const { db, roles } = await testDatabase(t)
  await sql`
    insert into quotes (number, status, country, currency, rate, issued_on, net, gross)
    select n, 'accepted', 'ES', 'EUR', 1, date '2020-01-01' + n % 2000, 10, 10
    from generate_series(1, 20000) as n
  `.execute(db)
  const hasty = openDatabase(roles.api, { settings: { statement_timeout: '200' } })
  t.teardown(() => hasty.destroy())
  await t.rejects(sql`select pg_sleep(1)`.execute(hasty), /statement timeout/)
  await foldStatistics(hasty, 100_000)
  t.match(await readSummaryState(db), { isFoldDue: false })
})

t.test('a fold waits for no other one, and asOf says that changes are missing', async (t) => {
  const service = await statsService(t)
  const { db, pool } = service
  t.equal((await requestStats(service)).total, 0)
  const other = await pool.connect()
  await other.query('begin; select pg_advisory_xact_lock(fold_lock())')
  await insertUnfoldedQuotes(db, [buildQuote('1', {})])
  const writtenAt = Date.now()
  await foldStatistics(db)
  t.equal((await readSummaryState(db)).isFoldDue, true)
  const stale = await eventually(
    () => requestStats(service, '?country=ES'),
    ({ age }) => age >= 2,
  )
  t.equal(stale.total, 0)
  t.ok(Date.parse(stale.response.json<Stats>().asOf) <= writtenAt)
  await other.query('commit')
  other.release()
  t.match(
    await eventually(
      () => requestStats(service, '?country=ES'),
      ({ total }) => total === 1,
    ),
    { total: 1, age: 0 },
  )
})

t.test('rows that were folded are not read again while an old snapshot is open', async (t) => {
  const { db } = await testDatabase(t)
  const snapshot = await db.startTransaction().setIsolationLevel('repeatable read').execute()
  await sql`select from quotes`.execute(snapshot)
  const quotes = Array.from({ length: 2_000 }, (_, n) => buildQuote(String(n), {}))
  await insertUnfoldedQuotes(db, quotes)
  await foldStatistics(db)
  const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: { 'Shared Hit Blocks': number } }] }>`
    explain (analyze, format json) select is_fold_due()
  `.execute(db)
  const pages = rows[0]?.['QUERY PLAN'][0].Plan['Shared Hit Blocks'] ?? 0
  t.ok(pages > 0 && pages < 100, `${pages} pages are visited`)
  await snapshot.rollback().execute()
})
