// The drift check compares the summary with the quotes in the background: it finds damaged figures,
// checks one month at a time for all processes, and reports failures.
import { sql } from 'kysely'
import t from 'tap'
import type { Database } from '../../../src/database/postgres-pool.ts'
import { buildApiOperationsApp } from '../../../src/monitoring/api-operations-app.ts'
import { createMetrics, type Metrics } from '../../../src/monitoring/process-metrics.ts'
import {
  checkNextMonth,
  readDrift,
  startDriftCheck,
} from '../../../src/stats/summary/drift-check.ts'
import { rebuildSummary } from '../../../src/stats/summary/verify-and-rebuild.ts'
import { logins } from '../../support/database/database-roles.ts'
import { testDatabase } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { readMetric } from '../../support/service/read-metric.ts'
import type { TestService } from '../../support/service/test-service.ts'
import { insertQuotes } from '../insert-quotes.ts'
import { buildQuote } from '../quote-builder.ts'
import { secondInstance, statsService } from '../stats-service.ts'

const [infoLevel, errorLevel] = [30, 50]
type LogLine = { level: number; msg: string }

async function startService(t: Parameters<typeof statsService>[0], driftCheckMs = 20) {
  const metrics = createMetrics()
  const lines: LogLine[] = []
  const service = await statsService(t, {
    metrics,
    driftCheckMs,
    log: (line) => lines.push(JSON.parse(line)),
  })
  const linesAbout = (pattern: RegExp) => lines.filter(({ msg }) => pattern.test(msg))
  return { service, metrics, linesAbout }
}

/** Waits until the service has compared this many more months. */
async function waitForChecks(metrics: Metrics, count: number): Promise<void> {
  const before = await readMetric(metrics, 'tqs_stats_drift_checks_total')
  await eventually(
    () => readMetric(metrics, 'tqs_stats_drift_checks_total'),
    (checks) => checks >= before + count,
  )
}

/** Changes quotes in a way that the summary does not notice. */
async function withoutTriggers(db: Database, change: () => Promise<unknown>): Promise<void> {
  await sql`alter table quotes disable trigger user`.execute(db)
  await change()
  await sql`alter table quotes enable trigger user`.execute(db)
}

const setNet = (db: Database, number: string, net: string) =>
  db.updateTable('quotes').set({ net, gross: net }).where('number', '=', number).execute()

/** Issued and accepted in one month. */
const quoteIn = (month: string) =>
  buildQuote(month, { issued_on: `${month}-10`, decided_on: `${month}-20` })

async function scrapeMetric({ db, engine, pool }: TestService, name: string): Promise<number> {
  const operations = buildApiOperationsApp({
    db,
    redis: null,
    engine,
    pool,
    metrics: createMetrics(),
    readIndexProgress: async () => [],
    readUnfoldedChanges: async () => ({ count: 0, oldestSeconds: 0 }),
    readDrift: () => readDrift(db),
  })
  const { body } = await operations.inject('/metrics')
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1])
}

t.test('wrong figures are found and logged once, until a rebuild corrects them', async (t) => {
  const { service, metrics, linesAbout } = await startService(t)
  const { db } = service
  const resultLines = () => linesAbout(/^The statistics of/)
  const waitForResults = (count: number) =>
    eventually(
      async () => resultLines(),
      ({ length }) => length >= count,
    )
  await insertQuotes(db, ['2026-03', '2026-04', '2026-06'].map(quoteIn))
  await waitForChecks(metrics, 4)
  t.same(resultLines(), [], 'no line while the figures are right')
  t.equal(await scrapeMetric(service, 'tqs_stats_drift_rows'), 0)

  await withoutTriggers(db, () => setNet(db, '2026-04', '100.01'))
  const [found] = await waitForResults(1)
  t.match(found, {
    level: errorLevel,
    msg: /^The statistics of 2026-04 do not agree .*: keep this line and follow StatsDrift/,
  })
  t.match(found?.msg, 'quote_figures: day issued 2026-04-10 ES EUR')
  t.match(found?.msg, 'quote_figures: month_total accepted 2026-04-01 EUR')
  t.equal(await scrapeMetric(service, 'tqs_stats_drift_rows'), 10)
  await waitForChecks(metrics, 8)
  t.equal(resultLines().length, 1, 'not logged again while nothing changes')

  await withoutTriggers(db, () =>
    db.updateTable('quotes').set({ country: 'FR' }).where('number', '=', '2026-04').execute(),
  )
  t.match((await waitForResults(2))[1], { level: errorLevel, msg: /2026-04-10 FR EUR/ })

  await rebuildSummary(db)
  t.equal(await scrapeMetric(service, 'tqs_stats_drift_rows'), 0, 'gone with the rebuild')
  t.match((await waitForResults(3))[2], {
    level: infoLevel,
    msg: 'The statistics of 2026-04 agree with the quotes again',
  })
  await waitForChecks(metrics, 8)
  t.equal(resultLines().length, 3)
})

t.test('a month that is missing from the summary is compared too', async (t) => {
  const { db } = await testDatabase(t)
  await insertQuotes(db, [quoteIn('2026-03')])
  await withoutTriggers(db, () =>
    insertQuotes(db, [buildQuote('1', { issued_on: '2025-11-10', decided_on: '2026-08-01' })]),
  )
  const results = [await checkNextMonth(db, 0), await checkNextMonth(db, 0)]
  results.push(await checkNextMonth(db, 0))
  t.match(results, [
    { month: '2026-08-01', differentRows: { length: 5 }, hasChanged: true },
    { month: '2026-03-01', differentRows: [], hasChanged: false },
    { month: '2025-11-01', differentRows: { length: 5 }, hasChanged: true },
  ])
  t.match(await readDrift(db), { differentRowCount: 10 })
})

t.test('the rows of a year are compared together with its oldest month', async (t) => {
  const { db } = await testDatabase(t)
  await insertQuotes(db, ['2026-03', '2026-04'].map(quoteIn))
  await rebuildSummary(db)
  await sql`
    update quote_figures set net = net + 1 where grain = 'year' and date_kind = 'issued'
  `.execute(db)
  t.match(await checkNextMonth(db, 0), { month: '2026-04-01', differentRows: [] })
  t.match(await checkNextMonth(db, 0), {
    month: '2026-03-01',
    differentRows: ['quote_figures: year issued 2026-01-01 ES EUR'],
    hasChanged: true,
  })
  t.match(await readDrift(db), { differentRowCount: 1 })
})

t.test(
  'months are compared from the newest to the oldest, then from the newest again',
  async (t) => {
    const { db } = await testDatabase(t)
    const checkMonths = async (count: number) => {
      const months: (string | undefined)[] = []
      for (let n = 0; n < count; n += 1) months.push((await checkNextMonth(db, 0))?.month)
      return months
    }
    const { rows } = await sql<{ month: string }>`
    select date_trunc('month', now())::date as month
  `.execute(db)
    t.same(await checkMonths(2), [rows[0]?.month, rows[0]?.month], 'the current one without quotes')
    await db.updateTable('summary_check').set({ claimed_month: 'infinity' }).execute()
    await insertQuotes(db, ['2026-03', '2025-04', '2026-01'].map(quoteIn))
    t.same(await checkMonths(5), [
      '2026-03-01',
      '2026-01-01',
      '2025-04-01',
      '2026-03-01',
      '2026-01-01',
    ])
    await db.deleteFrom('quotes').execute()
    await rebuildSummary(db)
    t.equal((await checkMonths(1)).length, 1)
  },
)

t.test('only one of several concurrent callers compares a month', async (t) => {
  const { db } = await testDatabase(t)
  await insertQuotes(db, ['2026-03', '2026-04'].map(quoteIn))
  const hourMs = 3_600_000
  const results = await Promise.all(Array.from({ length: 10 }, () => checkNextMonth(db, hourMs)))
  t.equal(results.filter((result) => result !== null).length, 1)
  t.equal(await checkNextMonth(db, hourMs), null)
})

t.test('two services on one database together compare one month in each interval', async (t) => {
  const intervalMs = 200
  const metrics = [createMetrics(), createMetrics()]
  const [first, second] = metrics as [Metrics, Metrics]
  const service = await statsService(t, { metrics: first, driftCheckMs: intervalMs })
  const { db } = service
  await sql`
    create table claims (at timestamptz);
    create function record_claim() returns trigger language plpgsql as $$
    begin
      insert into claims values (new.claimed_at);
      return null;
    end $$;
    create trigger record_claim after update of claimed_at on summary_check
      for each row execute function record_claim()
  `.execute(db)
  const other = await secondInstance(t, service, { metrics: second, driftCheckMs: intervalMs })
  const countChecks = async () =>
    (await readMetric(first, 'tqs_stats_drift_checks_total')) +
    (await readMetric(second, 'tqs_stats_drift_checks_total'))
  const before = await countChecks()
  await eventually(countChecks, (count) => count >= before + 6)
  await Promise.all([service.app.close(), other.app.close()])
  const { rows } = await sql<{ pauseMs: number }>`
    select extract(epoch from at - lag(at) over (order by at))::float8 * 1000 as "pauseMs"
    from claims order by at offset 1
  `.execute(db)
  t.ok(rows.length >= 5)
  t.same(
    rows.filter(({ pauseMs }) => pauseMs < intervalMs),
    [],
    'no two comparisons within an interval',
  )
  t.ok((await countChecks()) >= rows.length + 1, 'each claim was followed by a comparison')
})

t.test('each failure is counted and logged once per cause, and its end is logged', async (t) => {
  const { service, metrics, linesAbout } = await startService(t)
  const { db } = service
  const checkLines = () => linesAbout(/^The statistics summary/)
  const waitForFailures = async () => {
    const before = await readMetric(metrics, 'tqs_stats_drift_check_failures_total')
    await eventually(
      () => readMetric(metrics, 'tqs_stats_drift_check_failures_total'),
      (failures) => failures >= before + 3,
    )
  }
  await insertQuotes(db, ['2026-03', '2026-04'].map(quoteIn))
  const role = sql.id(logins.api.name)
  await sql`revoke execute on function run_summary_check(date) from ${role}`.execute(db)
  await waitForFailures()
  t.match(checkLines(), [
    { level: errorLevel, msg: /permission denied for function run_summary_check/ },
  ])
  t.equal(checkLines().length, 1, 'one line for several failures')

  await sql`alter function claim_summary_check(interval) rename to hidden_claim`.execute(db)
  await waitForFailures()
  t.match(checkLines()[1], { level: errorLevel, msg: /claim_summary_check.* does not exist/ })
  t.equal(checkLines().length, 2, 'one more line for another cause')

  await sql`alter function hidden_claim(interval) rename to claim_summary_check`.execute(db)
  await sql`grant execute on function run_summary_check(date) to ${role}`.execute(db)
  await waitForChecks(metrics, 3)
  const failures = await readMetric(metrics, 'tqs_stats_drift_check_failures_total')
  await waitForChecks(metrics, 3)
  t.match(checkLines()[2], { level: infoLevel, msg: /again/ })
  t.equal(checkLines().length, 3)
  t.equal(
    await readMetric(metrics, 'tqs_stats_drift_check_failures_total'),
    failures,
    'no failure after the repair',
  )
})

t.test('a month that cannot be compared is skipped', async (t) => {
  const { db } = await testDatabase(t)
  await insertQuotes(db, ['2026-03', '2026-04'].map(quoteIn))
  await sql`alter function run_summary_check(date) rename to hidden_check`.execute(db)
  await t.rejects(checkNextMonth(db, 0), /run_summary_check/)
  await sql`alter function hidden_check(date) rename to run_summary_check`.execute(db)
  t.match(await checkNextMonth(db, 0), { month: '2026-03-01' })
})

t.test('stop waits for the running comparison', async (t) => {
  const { db, pool } = await testDatabase(t)
  const locker = await pool.connect()
  let checks = 0
  const task = startDriftCheck(db, {
    log: { error: (text) => t.fail(text), info: () => undefined },
    observer: {
      countDriftCheck: () => {
        checks += 1
      },
      countDriftCheckFailure: () => t.fail('a comparison failed'),
    },
    intervalMs: 20,
  })
  try {
    await locker.query('begin; lock table quote_validity in access exclusive mode')
    const waiting = await eventually(
      async () =>
        (
          await sql`
            select from pg_stat_activity where wait_event_type = 'Lock'
              and datname = current_database() and query like '%run_summary_check%'
          `.execute(db)
        ).rows.length,
      (count) => count > 0,
    )
    t.equal(waiting, 1)
    const checksBefore = checks
    let isStopped = false
    const stopping = task.stop().then(() => {
      isStopped = true
    })
    await sql`select 1`.execute(db)
    t.notOk(isStopped, 'while the comparison waits for the lock')
    await locker.query('rollback')
    await stopping
    t.equal(checks, checksBefore + 1, 'the comparison was completed')
    const { claimed_at } = await readClaim(db)
    await new Promise((resolve) => setTimeout(resolve, 100))
    t.same((await readClaim(db)).claimed_at, claimed_at, 'and no other one began')
  } finally {
    locker.release()
  }
})

const readClaim = (db: Database) =>
  db.selectFrom('summary_check').select('claimed_at').executeTakeFirstOrThrow()
