// Folding: what requests get before it, while it takes long, and while another process folds.
import { sql } from 'kysely'
import t from 'tap'
import { openDatabase } from '../../../src/database/postgres-pool.ts'
import { createMetrics } from '../../../src/monitoring/process-metrics.ts'
import { foldStatistics } from '../../../src/stats/summary/fold-statistics.ts'
import { readSummaryState } from '../../../src/stats/summary/summary-state.ts'
import { runScript } from '../../imports/import-script.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { readMetric } from '../../support/service/read-metric.ts'
import { insertUnfoldedQuotes } from '../insert-quotes.ts'
import { buildQuote } from '../quote-builder.ts'
import { statsService, statsUntil } from '../stats-service.ts'

const numbered = (length: number) =>
  Array.from({ length }, (_, number) => buildQuote(String(number), {}))

t.test('asOf says that changes are missing while another process folds', async (t) => {
  const database = await testDatabase(t)
  const { db } = database
  await insertUnfoldedQuotes(db, numbered(2))
  const metrics = createMetrics()
  const service = await statsService(t, { database, metrics })
  // On a busy machine, the first fold may take longer than the start waits for it.
  const first = await statsUntil(service, ({ status }) => status !== 503)
  t.match(first, { status: 200, total: 2, age: 0 }, 'folded before the first response')
  const other = await db.startTransaction().execute()
  await sql`select pg_advisory_xact_lock(fold_lock())`.execute(other)
  await insertUnfoldedQuotes(db, [buildQuote('new', {})])
  const writtenAt = Date.now()
  await foldStatistics(db)
  t.equal((await readSummaryState(db)).isFoldDue, true, 'a fold waits for no other one')
  const stale = await statsUntil(service, ({ age }) => age >= 2, '?country=ES')
  t.match(stale, { total: 2, cacheStatus: 'stats; fwd=stale' })
  t.ok(stale.asOf <= writtenAt)
  t.ok((await readMetric(metrics, 'tqs_stats_lag_seconds')) >= 2)
  await other.commit().execute()
  const current = await statsUntil(service, ({ total }) => total === 3, '?country=ES')
  t.match(current, { total: 3, age: 0 })
})

t.test('an import of quotes ends with a fold', async (t) => {
  const { db, roles } = await testDatabase(t)
  const file =
    'number,status,issued_on,currency,rate,description,quantity,unit_price\n' +
    'Q-1,draft,2026-03-01,EUR,,Tubo,2,10.50\n'
  // 3: with a warning, because the quote is valid without end.
  t.match(await runScript(['quotes', '-'], roles.importer, file), { status: 3 })
  t.match(await readSummaryState(db), { isFoldDue: false, version: { number: 1 } })
  await sql`alter function fold_statistics rename to away`.execute(db)
  t.match(await runScript(['quotes', '-'], roles.importer, file.replace('Q-1', 'Q-2')), {
    status: 3,
    stderr: /^Imported, but not yet in the statistics \(.*fold_statistics.*\)/m,
  })
  t.match(await readSummaryState(db), { isFoldDue: true })
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

t.test('rows that were folded are not read again while an old snapshot is open', async (t) => {
  const { db } = await testDatabase(t)
  const snapshot = await db.startTransaction().setIsolationLevel('repeatable read').execute()
  await sql`select from quotes`.execute(snapshot)
  await insertUnfoldedQuotes(db, numbered(2_000))
  await foldStatistics(db)
  const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: { 'Shared Hit Blocks': number } }] }>`
    explain (analyze, format json) select is_fold_due()
  `.execute(db)
  const pages = rows[0]?.['QUERY PLAN'][0].Plan['Shared Hit Blocks'] ?? 0
  t.ok(pages > 0 && pages < 100, `${pages} pages are visited`)
  await snapshot.rollback().execute()
})
