// The background check compares the summary with the quotes: it finds and repairs damaged figures,
// checks one month at a time for all processes, and reports failures.
import { sql } from 'kysely'
import t from 'tap'
import type { Database } from '../../../src/database/postgres-pool.ts'
import { createMetrics, type Metrics } from '../../../src/monitoring/process-metrics.ts'
import {
  checkNextMonth,
  findSummaryDifferences,
  readCheckAgeSeconds,
} from '../../../src/stats/summary/check-months.ts'
import { logins } from '../../support/database/database-roles.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { readMetric } from '../../support/service/read-metric.ts'
import { insertQuotes } from '../insert-quotes.ts'
import { buildQuote } from '../quote-builder.ts'
import { requestStats, statsService } from '../stats-service.ts'

const [infoLevel, errorLevel] = [30, 50]
type LogLine = { level: number; msg: string }

async function startService(t: Parameters<typeof statsService>[0]) {
  const metrics = createMetrics()
  const lines: LogLine[] = []
  const service = await statsService(t, {
    metrics,
    driftCheckMs: 20,
    log: (line) => lines.push(JSON.parse(line)),
  })
  const linesAbout = (pattern: RegExp) => lines.filter(({ msg }) => pattern.test(msg))
  return { service, metrics, linesAbout }
}

/** Waits until a counter has increased by this much. */
async function waitForMore(metrics: Metrics, name: string, count: number): Promise<void> {
  const before = await readMetric(metrics, name)
  await eventually(
    () => readMetric(metrics, name),
    (value) => value >= before + count,
  )
}
const [checks, failures] = ['tqs_stats_drift_checks_total', 'tqs_stats_drift_check_failures_total']

/** Changes quotes in a way that the summary does not notice. */
async function withoutTriggers(db: Database, change: () => Promise<unknown>): Promise<void> {
  await sql`alter table quotes disable trigger user`.execute(db)
  await change()
  await sql`alter table quotes enable trigger user`.execute(db)
}

/** Issued and accepted in one month. */
const quoteIn = (month: string) =>
  buildQuote(month, { issued_on: `${month}-10`, decided_on: `${month}-20` })

t.test('wrong figures are logged, counted and repaired', async (t) => {
  const { service, metrics, linesAbout } = await startService(t)
  const { db } = service
  await insertQuotes(db, ['2026-03', '2026-04', '2026-06'].map(quoteIn))
  await waitForMore(metrics, checks, 4)
  t.same(linesAbout(/^The statistics of/), [], 'no line while the figures are right')
  t.equal(await readMetric(metrics, 'tqs_stats_repaired_rows_total'), 0)

  await withoutTriggers(db, () =>
    db
      .updateTable('quotes')
      .set({ net: '100.01', gross: '100.01' })
      .where('number', '=', '2026-04')
      .execute(),
  )
  const [found] = await eventually(
    async () => linesAbout(/^The statistics of/),
    ({ length }) => length > 0,
  )
  t.match(found, {
    level: errorLevel,
    msg: /^The statistics of 2026-04 did not agree .*StatsDrift/,
  })
  t.match(found?.msg, 'quote_figures: day issued 2026-04-10 ES EUR')
  t.match(found?.msg, 'quote_figures: year issued 2026-01-01 ES EUR')
  t.ok((await readMetric(metrics, 'tqs_stats_repaired_rows_total')) > 10)
  t.same(await findSummaryDifferences(db), [])
  const repaired = await eventually(
    () => requestStats(service),
    ({ response }) => response.json().revenue.total.amount === '300.01',
  )
  t.match(repaired.response.json(), { revenue: { total: { amount: '300.01' } } })
  await waitForMore(metrics, checks, 8)
  t.equal(linesAbout(/^The statistics of/).length, 1)
})

t.test('no month is left out, whether quotes or figures are missing', async (t) => {
  const { db } = await testDatabase(t)
  await insertQuotes(db, ['2026-03', '2025-06'].map(quoteIn))
  await withoutTriggers(db, async () => {
    await insertQuotes(db, [buildQuote('1', { issued_on: '2025-11-10', decided_on: '2026-08-01' })])
    await db.deleteFrom('quotes').where('number', '=', '2025-06').execute()
  })
  await sql`update quote_figures set won_net = 1 where grain = 'year'`.execute(db)
  const results: [string | undefined, boolean][] = []
  for (let n = 0; n < 6; n += 1) {
    const result = await checkNextMonth(db, 0)
    results.push([result?.month, (result?.repairedRows.length ?? 0) > 0])
  }
  t.same(results, [
    ['2026-08-01', true],
    ['2026-03-01', false],
    ['2026-01-01', false],
    ['2025-11-01', true],
    ['2025-06-01', true],
    ['2025-01-01', false],
  ])
  t.same(await findSummaryDifferences(db), [])
  t.equal((await checkNextMonth(db, 0))?.month, '2026-08-01', 'from the newest again')
  t.ok((await readCheckAgeSeconds(db)) < 60)
})

t.test('changes that are not folded are no difference, and stay to be folded', async (t) => {
  const { db } = await testDatabase(t)
  await insertQuotes(db, ['2026-03', '2026-04'].map(quoteIn))
  await db.updateTable('quotes').set({ country: 'FR' }).where('number', '=', '2026-03').execute()
  await db.deleteFrom('quotes').where('number', '=', '2026-04').execute()
  t.same(await findSummaryDifferences(db), [])
  t.match(await checkNextMonth(db, 0), { repairedRows: [] })
  await insertQuotes(db, [quoteIn('2026-05')])
  t.same(await findSummaryDifferences(db), [])
})

t.test('only one of several concurrent callers checks a month', async (t) => {
  const { db } = await testDatabase(t)
  t.equal(await checkNextMonth(db, 0), null, 'there is no month')
  await sql`update summary_check set claimed_at = '-infinity'`.execute(db)
  await insertQuotes(db, ['2026-03', '2026-04'].map(quoteIn))
  const hourMs = 3_600_000
  const results = await Promise.all(Array.from({ length: 10 }, () => checkNextMonth(db, hourMs)))
  t.equal(results.filter((result) => result !== null).length, 1)
  t.equal(await checkNextMonth(db, hourMs), null)
})

t.test(
  'a failure is counted and logged once, its month is skipped, and its end is logged',
  async (t) => {
    const { service, metrics, linesAbout } = await startService(t)
    const { db } = service
    const checkLines = () => linesAbout(/^The statistics summary/)
    await insertQuotes(db, ['2026-03', '2026-04'].map(quoteIn))
    const role = sql.id(logins.api.name)
    await sql`revoke execute on function check_claimed_month(date) from ${role}`.execute(db)
    const claimed = async () =>
      (await db.selectFrom('summary_check').select('claimed_month').executeTakeFirstOrThrow())
        .claimed_month
    await waitForMore(metrics, failures, 1)
    const before = await claimed()
    t.not(await eventually(claimed, (month) => month !== before), before)
    await waitForMore(metrics, failures, 2)
    t.match(checkLines(), [
      { level: errorLevel, msg: /permission denied for function check_claimed_month/ },
    ])
    t.equal(checkLines().length, 1, 'one line for several failures')
    await sql`grant execute on function check_claimed_month(date) to ${role}`.execute(db)
    await waitForMore(metrics, checks, 3)
    t.match(checkLines()[1], { level: infoLevel, msg: /again/ })
    t.equal(checkLines().length, 2)
  },
)
