// The background check compares the summary with the quotes, one month at a time for all processes,
// and repairs damaged figures.
import { sql } from 'kysely'
import t from 'tap'
import type { Database } from '../../../src/database/postgres-pool.ts'
import { createMetrics } from '../../../src/monitoring/process-metrics.ts'
import {
  checkNextMonth,
  findSummaryDifferences,
  readCheckAgeSeconds,
  rebuildSummary,
} from '../../../src/stats/summary/check-months.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { readMetric } from '../../support/service/read-metric.ts'
import { insertCustomers, insertQuotes } from '../insert-quotes.ts'
import { buildQuote } from '../quote-builder.ts'
import { statsService, statsUntil } from '../stats-service.ts'

/** Changes quotes and lines in a way that the summary does not notice. */
async function withoutTriggers(db: Database, change: () => Promise<unknown>): Promise<void> {
  await sql`
    alter table quotes disable trigger user; alter table quote_lines disable trigger user
  `.execute(db)
  await change()
  await sql`
    alter table quotes enable trigger user; alter table quote_lines enable trigger user
  `.execute(db)
}

const setNet = (db: Database, number: string) =>
  db
    .updateTable('quotes')
    .set({ net: '100.01', gross: '100.01' })
    .where('number', '=', number)
    .execute()

/** Issued and accepted in one month. */
const quoteIn = (month: string) =>
  buildQuote(month, { issued_on: `${month}-10`, decided_on: `${month}-20` })

t.test('wrong figures are logged, counted and repaired', async (t) => {
  const metrics = createMetrics()
  const lines: { level: number; msg: string }[] = []
  const service = await statsService(t, {
    metrics,
    driftCheckMs: 20,
    log: (line) => lines.push(JSON.parse(line)),
  })
  const { db } = service
  const found = () => lines.filter(({ msg }) => /^The statistics of/.test(msg))
  const waitForChecks = async (count: number) => {
    const read = () => readMetric(metrics, 'tqs_stats_drift_checks_total')
    const before = await read()
    await eventually(read, (value) => value >= before + count)
  }
  await insertQuotes(db, ['2026-03', '2026-04', '2026-06'].map(quoteIn))
  await waitForChecks(4)
  t.same(found(), [], 'no line while the figures are right')
  t.equal(await readMetric(metrics, 'tqs_stats_repaired_rows_total'), 0)
  await withoutTriggers(db, () => setNet(db, '2026-04'))
  const repaired = await statsUntil(
    service,
    ({ response }) => response.json().revenue.total.amount === '300.01',
  )
  t.match(repaired.response.json(), { revenue: { total: { amount: '300.01' } } })
  await waitForChecks(8)
  t.equal(found().length, 1)
  for (const msg of [
    /^The statistics of 2026-04 did not agree .*StatsDrift/,
    /quote_figures: day issued 2026-04-10 ES EUR/,
    /quote_figures: year issued 2026-01-01 ES EUR/,
  ])
    t.match(found(), [{ level: 50, msg }])
  t.ok((await readMetric(metrics, 'tqs_stats_repaired_rows_total')) > 10)
  t.same(await findSummaryDifferences(db), [])
})

t.test('no month is left out, whether quotes or figures are missing', async (t) => {
  const { db } = await testDatabase(t)
  await insertQuotes(db, ['2026-03', '2025-06'].map(quoteIn))
  await withoutTriggers(db, async () => {
    await insertQuotes(db, [buildQuote('1', { issued_on: '2025-11-10', decided_on: '2026-08-01' })])
    await db.deleteFrom('quotes').where('number', '=', '2025-06').execute()
  })
  await sql`update quote_figures set won_net = 1 where grain = 'year'`.execute(db)
  for (const [month, isRepaired] of [
    ['2026-08-01', true],
    ['2026-03-01', false],
    ['2026-01-01', false],
    ['2025-11-01', true],
    ['2025-06-01', true],
    ['2025-01-01', false],
    // From the newest again.
    ['2026-08-01', false],
  ] as const) {
    const result = await checkNextMonth(db, 0)
    t.same([result?.month, (result?.repairedRows.length ?? 0) > 0], [month, isRepaired])
  }
  t.same(await findSummaryDifferences(db), [])
  await sql`alter function check_month(date, text, boolean) rename to away`.execute(db)
  await t.rejects(checkNextMonth(db, 0), /check_month/)
  await sql`alter function away(date, text, boolean) rename to check_month`.execute(db)
  t.equal((await checkNextMonth(db, 0))?.month, '2026-01-01', 'a month that fails is skipped')
  t.ok((await readCheckAgeSeconds(db)) < 60)
})

t.test('only one of several concurrent callers checks a month', async (t) => {
  const { db } = await testDatabase(t)
  t.equal(await checkNextMonth(db, 0), null, 'there is no month')
  await sql`update summary_check set claimed_at = '-infinity'`.execute(db)
  await insertQuotes(db, ['2026-03', '2026-04'].map(quoteIn))
  const hourMs = 3_600_000
  const results = await Promise.all(Array.from({ length: 10 }, () => checkNextMonth(db, hourMs)))
  t.equal(results.filter((result) => result !== null).length, 1)
})

t.test('verification names each row that differs, and a rebuild corrects all', async (t) => {
  const { db } = await testDatabase(t)
  await insertCustomers(db, ['1'])
  await insertQuotes(db, [
    buildQuote('1', { customer_id: '1', lines: [{ sku: 'A', net: '10' }] }),
    buildQuote('2', { status: 'sent', decided_on: null, valid_until: '2026-04-01' }),
  ])
  for (const [what, damage, differences] of [
    [
      'the net of a quote',
      () => withoutTriggers(db, () => setNet(db, '1')),
      [
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
      ],
    ],
    [
      'the SKU of a line',
      () => withoutTriggers(db, () => db.updateTable('quote_lines').set({ sku: null }).execute()),
      [
        'product_figures: month accepted 2026-04-01 ES EUR',
        'product_figures: month issued 2026-03-01 ES EUR',
        'product_figures: month_total accepted 2026-04-01 unknown EUR',
        'product_figures: month_total issued 2026-03-01 unknown EUR',
      ],
    ],
    [
      'years',
      () =>
        sql`
          update customer_figures set quotes = quotes + 1
          where grain = 'year' and date_kind = 'issued' and customer_id = 1;
          update product_figures set own_net = own_net + 1
          where grain = 'year_total' and date_kind = 'issued'
        `.execute(db),
      [
        'customer_figures: year issued 2026-01-01 ES EUR',
        'product_figures: year_total issued 2026-01-01 unknown EUR',
      ],
    ],
  ] as [string, () => Promise<unknown>, string[]][]) {
    t.same(await findSummaryDifferences(db), [])
    await damage()
    t.same((await findSummaryDifferences(db)).toSorted(), differences, what)
    await rebuildSummary(db)
  }
  await insertQuotes(db, [buildQuote('3', {})])
  t.same(await findSummaryDifferences(db), [], 'the enabled triggers count a quote once')
})
