// Folding in the background: failures are logged once for each cause, counted, and end.
import { sql } from 'kysely'
import t from 'tap'
import { createMetrics } from '../../src/monitoring/metrics.ts'
import { readUnfoldedChanges } from '../../src/stats/summary/unfolded-changes.ts'
import { eventually, logins, testDatabase } from '../support/test-service.ts'
import { buildQuote } from './expected-stats.ts'
import { insertQuote, insertQuotes, requestStats, statsService } from './stats-service.ts'

const errorLevel = 50

t.test('a failure is logged once for each cause, counted, and its end is logged', async (t) => {
  const metrics = createMetrics()
  const lines: { level: number; msg: string }[] = []
  const service = await statsService(t, { metrics, log: (line) => lines.push(JSON.parse(line)) })
  const { db } = service
  const foldLines = () => lines.filter(({ msg }) => /statistics summary/.test(msg))
  const waitForFailures = async () => {
    const before = metrics.values.foldFailures
    await eventually(
      async () => metrics.values.foldFailures,
      (failures) => failures >= before + 3,
    )
  }
  const role = sql.id(logins.api.name)
  await sql`revoke execute on function fold_quote_deltas(integer) from ${role}`.execute(db)
  await insertQuote(db, '1')
  await waitForFailures()
  t.match(foldLines(), [
    { level: errorLevel, msg: /permission denied for function fold_quote_deltas/ },
  ])
  t.equal(foldLines().length, 1, 'one line for several failures')

  await sql`alter function fold_quote_deltas(integer) rename to hidden_fold`.execute(db)
  await waitForFailures()
  t.equal(foldLines().length, 2, 'one more line for another cause')
  t.match(foldLines()[1], { level: errorLevel, msg: /fold_quote_deltas.* does not exist/ })
  t.equal((await requestStats(service)).total, 1, 'statistics contain the change all the same')
  t.match(await readUnfoldedChanges(db), { count: 2 })

  await sql`alter function hidden_fold(integer) rename to fold_quote_deltas`.execute(db)
  await sql`grant execute on function fold_quote_deltas(integer) to ${role}`.execute(db)
  const afterwards = await eventually(
    async () => foldLines(),
    ({ length }) => length > 2,
  )
  t.match(afterwards[2], { level: 30, msg: /again/ })
  t.equal(afterwards.length, 3)
  t.same(await readUnfoldedChanges(db), { count: 0, oldestSeconds: 0 })
})

t.test('unfolded changes are counted up to 10,000, with the age of the oldest', async (t) => {
  const { db } = await testDatabase(t)
  t.same(await readUnfoldedChanges(db), { count: 0, oldestSeconds: 0 })
  const draft = buildQuote('', { status: 'draft', decided_on: null })
  await insertQuotes(db, [{ ...draft, number: '1' }])
  await sql`update quote_deltas set created_at = now() - interval '90 seconds'`.execute(db)
  await insertQuotes(db, [{ ...draft, number: '2' }])
  const { count, oldestSeconds } = await readUnfoldedChanges(db)
  t.equal(count, 2)
  t.ok(oldestSeconds >= 90 && oldestSeconds < 150, `${oldestSeconds} s`)
  await sql`
    insert into quote_deltas (date_kind, day, country, currency, drafts, sent, accepted, rejected,
      expired, net, base_net, unconverted, unconverted_net)
    select 'issued', '2026-03-10', 'ES', 'EUR', 1, 0, 0, 0, 0, 0, 0, 0, 0
    from generate_series(1, 10_001)
  `.execute(db)
  t.equal((await readUnfoldedChanges(db)).count, 10_000)
})
