// Folding in the background: when it folds, what it costs readers, and how it reports failures.
import { sql } from 'kysely'
import t from 'tap'
import type { Database } from '../../../src/database/postgres-pool.ts'
import { createMetrics } from '../../../src/monitoring/process-metrics.ts'
import {
  batchSize,
  foldBatch,
  fullBatchThreshold,
  readUnfoldedChanges,
} from '../../../src/stats/summary/fold-changes.ts'
import { prepareSnapshot } from '../../../src/stats/summary/prepare-snapshot.ts'
import { findSummaryDifferences } from '../../../src/stats/summary/verify-and-rebuild.ts'
import { logins } from '../../support/database/database-roles.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { readMetric } from '../../support/service/read-metric.ts'
import { insertQuote, insertQuotes } from '../insert-quotes.ts'
import { buildQuote } from '../quote-builder.ts'
import { requestStats, statsService } from '../stats-service.ts'

const errorLevel = 50
type LogLine = { level: number; msg: string }

t.test('each failure is counted and logged once per cause, and its end is logged', async (t) => {
  const metrics = createMetrics()
  const lines: LogLine[] = []
  const service = await statsService(t, { metrics, log: (line) => lines.push(JSON.parse(line)) })
  const { db } = service
  const foldLines = () => lines.filter(({ msg }) => /statistics summary/.test(msg))
  const waitForFailures = async () => {
    const before = await readMetric(metrics, 'tqs_stats_fold_failures_total')
    await eventually(
      () => readMetric(metrics, 'tqs_stats_fold_failures_total'),
      (failures) => failures >= before + 3,
    )
  }
  const role = sql.id(logins.api.name)
  await sql`revoke execute on function fold_quote_changes(integer) from ${role}`.execute(db)
  await insertQuote(db, '1')
  // Few changes are folded only when they are old.
  await sql`update quote_changes set created_at = now() - interval '1 hour'`.execute(db)
  await waitForFailures()
  t.match(foldLines(), [
    { level: errorLevel, msg: /permission denied for function fold_quote_changes/ },
  ])
  t.equal(foldLines().length, 1, 'one line for several failures')

  await sql`alter function fold_quote_changes(integer) rename to hidden_fold`.execute(db)
  await waitForFailures()
  // A call that found the function before it was renamed is denied under its new name.
  const causes = foldLines().filter(({ msg }) => !/hidden_fold/.test(msg))
  // PostgreSQL may name the types of its parameters in two ways: integer and unknown.
  const missing = causes.slice(1)
  t.ok(missing.length === 1 || missing.length === 2, 'one more line for another cause')
  for (const line of missing)
    t.match(line, { level: errorLevel, msg: /fold_quote_changes.* does not exist/ })
  t.equal((await requestStats(service)).total, 1, 'statistics contain the change all the same')
  t.match(await readUnfoldedChanges(db), { count: 1 })

  await sql`alter function hidden_fold(integer) rename to fold_quote_changes`.execute(db)
  await sql`grant execute on function fold_quote_changes(integer) to ${role}`.execute(db)
  const afterwards = await eventually(
    async () => foldLines().filter(({ level }) => level < errorLevel),
    ({ length }) => length > 0,
  )
  t.match(afterwards, [{ level: 30, msg: /again/ }])
  t.equal(afterwards.length, 1)
  t.same(await readUnfoldedChanges(db), { count: 0, oldestSeconds: 0 })
})

t.test('unfolded changes are counted by statement, with the age of the oldest', async (t) => {
  const { db } = await testDatabase(t)
  t.same(await readUnfoldedChanges(db), { count: 0, oldestSeconds: 0 })
  await insertQuote(db, '1')
  await sql`update quote_changes set created_at = now() - interval '90 seconds'`.execute(db)
  const many = Array.from({ length: 500 }, (_, n) => buildQuote(`many-${n}`, {}))
  await insertQuotes(db, many)
  const { count, oldestSeconds } = await readUnfoldedChanges(db)
  t.equal(count, 2, 'a statement with many quotes is one change')
  t.ok(oldestSeconds >= 90 && oldestSeconds < 600, `${oldestSeconds} s`)
})

t.test('many changes are folded before they are old', async (t) => {
  const { db } = await statsService(t)
  for (let n = 0; n < 1_000; n += 1) await insertQuote(db, String(n))
  await eventually(
    () => readUnfoldedChanges(db),
    ({ count }) => count === 0,
  )
  const folded = await db
    .selectFrom('quote_figures')
    .where('grain', '=', 'year')
    .where('date_kind', '=', 'issued')
    .select('accepted')
    .executeTakeFirstOrThrow()
  t.equal(folded.accepted, '1000')
  t.same(await findSummaryDifferences(db), [])
})

t.test('the SQL function limits a batch as fullBatchThreshold says', async (t) => {
  const { db } = await testDatabase(t)
  const { rows } = await sql<{ definition: string }>`
    select pg_get_functiondef('fold_quote_changes'::regproc) as definition
  `.execute(db)
  const limits = [...(rows[0]?.definition ?? '').matchAll(/\blimit (.+)$/gm)].map(
    ([, limit]) => limit,
  )
  const eighth = `greatest(batch / ${batchSize / fullBatchThreshold}, 1)`
  t.same(
    [...new Set(limits)].sort(),
    ['batch', eighth],
    'if this fails, fullBatchThreshold does not fit the limits in the SQL of fold_quote_changes',
  )
})

t.test('rows that do not fit into one batch are folded', async (t) => {
  const { db } = await statsService(t)
  const quotes = Array.from({ length: 300 }, (_, quote) =>
    buildQuote(`P-${quote}`, {
      lines: Array.from({ length: 20 }, (_, n) => ({ sku: `SKU-${quote}-${n}`, net: '1.00' })),
    }),
  )
  await insertQuotes(db, quotes)
  // Few changes are folded only when they are old.
  await sql`update quote_changes set created_at = now() - interval '1 hour'`.execute(db)
  const countUnfolded = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::integer as count from product_figures_unfolded
      where xid >= next_unfolded_xid() or xid = any (late_unfolded_xids())
    `.execute(db)
    return rows[0]?.count
  }
  t.equal(await countUnfolded(), 6_000)
  t.equal(await eventually(countUnfolded, (count) => count === 0), 0)
  t.same(await findSummaryDifferences(db), [])
})

t.test('the dead rows that a request visits stay few while an old snapshot is open', async (t) => {
  const { db } = await testDatabase(t)
  const countries = ['AT', 'BE', 'CH', 'DE', 'DK', 'ES', 'FI', 'FR', 'GB', 'GR']
  const years = Array.from({ length: 20 }, (_, n) => 2005 + n)
  await insertQuotes(
    db,
    years.flatMap((year) =>
      countries.map((country) =>
        buildQuote(`${year}-${country}`, { country, issued_on: `${year}-03-01` }),
      ),
    ),
  )
  await foldAll(db)
  const before = await countPagesOfYears(db)
  const snapshot = await db.startTransaction().setIsolationLevel('repeatable read').execute()
  const readNet = async (reader: Database) =>
    (
      await reader
        .selectFrom('current_figures')
        .where('grain', '=', 'year')
        .select(({ fn }) => fn.sum<string>('net').as('net'))
        .executeTakeFirstOrThrow()
    ).net
  const netBefore = await readNet(snapshot)
  for (let n = 0; n < 40; n += 1) {
    // As single changes: not more than 200 in a statement.
    await sql`update quotes set net = net + 1, gross = gross + 1`.execute(db)
    await foldAll(db)
  }
  const { edition } = await db
    .selectFrom('quote_summary')
    .select('edition')
    .executeTakeFirstOrThrow()
  t.ok(edition > 5, `${edition} editions`)
  const pages = await countPagesOfYears(db)
  t.ok(pages < 10 * before, `${pages} pages are visited, before the updates ${before}`)
  t.equal(await readNet(snapshot), netBefore, 'the old snapshot has not changed')
  await snapshot.rollback().execute()
  t.same(await findSummaryDifferences(db), [])
})

t.test('counting fails if quote_summary has no row', async (t) => {
  const { db } = await testDatabase(t)
  await insertQuote(db, '1')
  t.match(await readUnfoldedChanges(db), { count: 1 })
  await sql`delete from quote_summary`.execute(db)
  await t.rejects(readUnfoldedChanges(db))
})

async function foldAll(db: Database): Promise<void> {
  while ((await foldBatch(db)) > 0);
}

/** Returns how many pages PostgreSQL visits to read the years, dead rows included. */
async function countPagesOfYears(db: Database): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    await prepareSnapshot(transaction, {})
    const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: { 'Shared Hit Blocks': number } }] }>`
      explain (analyze, format json) select sum(net) from current_figures
      where grain = 'year' and date_kind = 'issued'
        and starts_on between '2005-01-01' and '2026-01-01'
    `.execute(transaction)
    return rows[0]?.['QUERY PLAN'][0].Plan['Shared Hit Blocks'] ?? 0
  })
}
