// What the log, the metrics and the responses say while a task of the statistics fails.
import { sql } from 'kysely'
import t from 'tap'
import { createMetrics } from '../../src/monitoring/process-metrics.ts'
import { computationRecovery } from '../../src/stats/cache/stats-cache.ts'
import { logins } from '../support/database/database-roles.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { bearer, createSecretKey } from '../support/secret-keys.ts'
import { readMetric } from '../support/service/read-metric.ts'
import { insertQuote, insertUnfoldedQuotes } from './insert-quotes.ts'
import { buildQuote } from './quote-builder.ts'
import { requestStats, statsService } from './stats-service.ts'

type LogLine = { level: number; msg: string; degraded?: boolean; err?: { message: string } }

replaceUntilEnd(t, computationRecovery, { ms: 3_000 })
const metrics = createMetrics()
const lines: LogLine[] = []
const service = await statsService(t, {
  metrics,
  // More frequent checks would hold the lock of folds most of the time.
  driftCheckMs: 200,
  log: (line) => lines.push(JSON.parse(line)),
})
const { db } = service
await insertQuote(db, '0')
const key = bearer(await createSecretKey(db, { scopes: ['stats:read', 'stats:detail'] }))
await requestStats(service, '?by=customer', key)

/** Requests cached and other customers, and returns whether the cached ones are stale. */
async function requestCustomers(): Promise<boolean> {
  const cached = await requestStats(service, '?by=customer', key)
  await requestStats(service, '?by=customer&country=ES', key)
  // Others that succeed are no recovery.
  await requestStats(service)
  return cached.cacheStatus === 'stats; fwd=stale'
}

let staleResponses = 0
for (const { task, right, of, countFailures } of [
  {
    task: /folded/,
    right: sql`execute on function fold_statistics(integer, pg_snapshot)`,
    of: 'function fold_statistics',
    countFailures: () => readMetric(metrics, 'tqs_stats_fold_failures_total'),
  },
  {
    task: /compared/,
    right: sql`execute on function check_claimed_month(date)`,
    of: 'function check_claimed_month',
    countFailures: () => readMetric(metrics, 'tqs_stats_drift_check_failures_total'),
  },
  {
    task: /computed/,
    right: sql`select on customer_figures`,
    of: 'table customer_figures',
    async countFailures() {
      if (await requestCustomers()) staleResponses += 1
      return staleResponses
    },
  },
])
  t.test(`a failure of ${of} is logged once, and its end`, async (t) => {
    const role = sql.id(logins.api.name)
    const logged = () => lines.filter(({ msg }) => /[Ss]tatistics/.test(msg) && task.test(msg))
    await sql`revoke ${right} from ${role}`.execute(db)
    await insertUnfoldedQuotes(db, [buildQuote(of, {})])
    const before = await countFailures()
    await eventually(
      async () => (await countFailures()) - before,
      (failures) => failures >= 3 && logged().length > 0,
    )
    t.match(logged(), [{ level: 50, msg: new RegExp(`permission denied for ${of}`) }])
    t.equal(logged().length, 1, 'one line for several failures')
    await sql`grant ${right} to ${role}`.execute(db)
    let changes = 0
    await eventually(
      async () => {
        changes += 1
        await insertUnfoldedQuotes(db, [buildQuote(`${of} ${changes}`, {})])
        await requestCustomers()
        return logged().length
      },
      (count) => count > 1,
    )
    t.match(logged().slice(1), [{ level: 30, msg: /again/ }])
  })

t.test('a defect is an internal error that is logged, not an outage', async (t) => {
  t.ok(lines.some(({ msg, degraded }) => msg === 'request' && degraded))
  await sql`revoke select on quote_figures from ${sql.id(logins.api.name)}`.execute(db)
  const { response } = await requestStats(service, '?country=PT')
  t.match(response.json(), { status: 500, code: 'internal_error' })
  const isLogged = ({ level, err }: LogLine) =>
    level === 50 && /permission denied for table quote_figures/.test(err?.message ?? '')
  t.ok(lines.some(isLogged))
})
