// The cache of /api/stats in a process: statistics are at most two seconds old, or marked stale.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { createApiKey } from '../../../src/auth/api-keys.ts'
import type { Database } from '../../../src/database/postgres-pool.ts'
import type { Scope } from '../../../src/database/table-types.ts'
import { maxAgeMs } from '../../../src/stats/cache/stats-cache.ts'
import type { Stats } from '../../../src/stats/schema.ts'
import { logins } from '../../support/database/database-roles.ts'
import { eventually } from '../../support/eventually.ts'
import type { FaultyProxy } from '../../support/servers/faulty-proxy.ts'
import type { TestService } from '../../support/service/test-service.ts'
import { insertQuote, insertQuotes, insertUnfoldedQuotes } from '../insert-quotes.ts'
import { buildQuote } from '../quote-builder.ts'
import {
  findWrongResponses,
  requestStats,
  secondInstance,
  serviceBehindFaultyProxy,
  statsService,
} from '../stats-service.ts'

const apiRole = sql.id(logins.api.name)

/** The API can fold all the same. */
const denyReading = (db: Database) =>
  sql`revoke select on quote_figures from ${apiRole}`.execute(db)

// These tests mostly wait, and each has its own database.
t.jobs = 4

t.test('the cache key contains every parameter that the statistics depend on', async (t) => {
  const service = await statsService(t)
  const scopes: Scope[] = ['stats:read', 'stats:detail']
  const key = await createApiKey(service.db, { kind: 'secret', name: 'Test', scopes })
  await insertQuote(service.db, '1')
  const queries = [
    '',
    '?date=accepted',
    '?country=ES',
    '?country=unknown',
    '?currency=EUR',
    '?from=2026-01-01',
    '?to=2026-12-31',
    '?compare=previous_year',
    '?by=customer',
    '?by=product',
    '?from=2026-01-01&to=2026-01-31',
    '?from=2026-01-01&to=2026-01-31&by=day',
  ]
  for (const query of queries)
    t.match(await requestStats(service, query, key), { cacheStatus: 'stats; fwd=miss' }, query)
  for (const query of queries)
    t.match(await requestStats(service, query, key), { cacheStatus: 'stats; hit' }, query)
  t.match(
    await requestStats(service, '?date=issued&locale=es'),
    { cacheStatus: 'stats; hit' },
    'and no other parameter',
  )
})

t.test('statistics stay current while the data does not change', async (t) => {
  const service = await statsService(t)
  await insertQuote(service.db, '1')
  t.match(await requestStats(service), { total: 1, cacheStatus: 'stats; fwd=miss', age: 0 })
  await sleep(maxAgeMs + 500)
  const unchanged = await eventually(
    () => requestStats(service),
    ({ cacheStatus, age }) => cacheStatus === 'stats; hit' && age === 0,
  )
  t.match(unchanged, { cacheStatus: 'stats; hit', age: 0 })
})

t.test('a sent quote expires at midnight without a write', async (t) => {
  const service = await statsService(t)
  await insertQuotes(service.db, [
    buildQuote('1', { status: 'sent', decided_on: null, valid_until: '2026-11-21' }),
  ])
  const readStatus = async () => {
    const { quotes } = (await requestStats(service)).response.json<Stats>()
    return { sent: quotes.byStatus.sent, expired: quotes.byStatus.expired }
  }
  t.same(await readStatus(), { sent: 1, expired: 0 })
  await sql`update test_today set day = '2026-11-22'`.execute(service.db)
  t.same(await eventually(readStatus, ({ expired }) => expired === 1), { sent: 0, expired: 1 })
  await sql`update test_today set day = '2026-11-21'`.execute(service.db)
  await insertQuote(service.db, '2')
  const { response } = await eventually(
    () => requestStats(service),
    ({ total }) => total === 2,
  )
  t.match(response.json(), { quotes: { byStatus: { expired: 1 } } }, 'the day never moves back')
})

t.test('no statistics from before a restored backup are sent as current', async (t) => {
  const service = await statsService(t)
  const { db } = service
  await insertQuote(db, '1')
  await sql`create table copy_of_quotes as select * from quotes`.execute(db)
  for (const number of ['2', '3']) await insertQuote(db, number)
  await eventually(
    () => requestStats(service),
    ({ total }) => total === 3,
  )
  await waitForSharedStats(service)
  // Like pg_restore --clean: the table is created anew, with an older version.
  await db.transaction().execute(async (transaction) => {
    const run = (text: string) => sql.raw(text).execute(transaction)
    const { rows } = await sql<{ definition: string }>`
      select pg_get_viewdef('unfolded_changes') || ' create view summary_state as '
        || pg_get_viewdef('summary_state') as definition
    `.execute(transaction)
    await run('alter table quotes disable trigger user')
    await run('delete from quotes')
    await run('create table restored (like quote_summary including all)')
    await run('insert into restored select * from quote_summary')
    await run('drop table quote_summary cascade')
    await run('alter table restored rename to quote_summary')
    await run(`create view unfolded_changes as ${rows[0]?.definition}`)
    await run('grant select on summary_state to public')
    await run('insert into quotes overriding system value select * from copy_of_quotes')
    await run('alter table quotes enable trigger user')
    await run('select rebuild_summary()')
    await run('update quote_summary set version = 1')
  })
  await sleep(maxAgeMs)
  for (const process of [service, await secondInstance(t, service)]) {
    const current = await eventually(
      () => requestStats(process),
      // On a busy machine the first refresh may take too long.
      ({ cacheStatus }) => !cacheStatus.includes('stale'),
    )
    t.match(current, { total: 1 }, 'neither from the process nor from Redis')
  }
})

t.test('a committed change is visible in every instance within two seconds', async (t) => {
  const first = await statsService(t)
  const other = await secondInstance(t, first)
  for (const service of [first, other]) t.equal((await requestStats(service)).total, 0)
  await insertUnfoldedQuotes(first.db, [buildQuote('1', {})])
  await sleep(maxAgeMs)
  for (const service of [first, other]) {
    // On a slow machine the first refresh may take too long.
    const current = await eventually(
      () => requestStats(service),
      ({ cacheStatus }) => !cacheStatus.includes('stale'),
    )
    t.match(current, { status: 200, total: 1 }, 'the first that is not marked stale')
  }
})

t.test(
  'a request waits for a refresh only if the statistics are too old to be current',
  async (t) => {
    const service = await statsService(t)
    await insertQuote(service.db, '1')
    t.equal((await requestStats(service)).total, 1)
    const client = await service.pool.connect()
    try {
      // Statistics cannot be computed until this transaction ends.
      await client.query('begin; lock table quote_figures in access exclusive mode')
      await insertUnfoldedQuotes(service.db, [buildQuote('2', {})])
      const first = await requestStats(service)
      // On a slow machine the statistics are already too old.
      t.ok(
        first.cacheStatus === 'stats; hit' || first.age >= 2,
        `${first.cacheStatus} ${first.age}`,
      )
      t.equal(first.total, 1)
      const stale = await eventually(
        () => requestStats(service),
        ({ cacheStatus }) => cacheStatus !== 'stats; hit',
      )
      t.match(stale, { status: 200, total: 1, cacheStatus: /^stats; fwd=stale/ })
      t.ok(stale.age >= 2, `Age: ${stale.age}`)
    } finally {
      await client.query('rollback')
      client.release()
    }
    const current = await eventually(
      () => requestStats(service),
      ({ total, age }) => total === 2 && age === 0,
    )
    t.match(current, { total: 2, age: 0 })
  },
)

t.test(
  'every response is a committed state at most two seconds old, or marked stale',
  async (t) => {
    const first = await statsService(t)
    const other = await secondInstance(t, first)
    t.same(await findWrongResponses(first.db, [first, other]), [])
  },
)

t.test('while PostgreSQL is unreachable, responses are stale with their age, or 503', async (t) => {
  const service = await serviceBehindFaultyProxy(t)
  const { faultyProxy } = service
  await insertQuote(service.db, '1')
  t.equal((await requestStats(service)).total, 1)
  for (const [startOutage, outage] of [
    [() => faultyProxy.refuseConnections(), 'refusing'],
    [() => faultyProxy.stopForwarding(), 'hanging'],
  ] as const) {
    startOutage()
    const stale = await eventually(
      () => requestStats(service),
      ({ cacheStatus }) => cacheStatus.includes('stale'),
    )
    t.match(stale, { status: 200, total: 1, cacheStatus: /^stats; fwd=stale/ }, outage)
    t.ok(stale.age >= 2, `Age: ${stale.age}`)
    if (outage === 'refusing') {
      const { status, response } = await requestStats(service, '?country=FR')
      t.equal(status, 503, 'nothing is cached')
      t.match(response.json(), { code: 'unavailable' })
      t.ok(Number(response.headers['retry-after']) > 0)
    }
    faultyProxy.restore()
    t.match(
      await eventually(
        () => requestStats(service),
        ({ cacheStatus, age }) => !cacheStatus.includes('stale') && age === 0,
      ),
      { status: 200, total: 1, age: 0 },
      'after the outage',
    )
  }
})

t.test('a defect is an internal error that is logged, not an outage', async (t) => {
  const lines: { level: number; msg: string; err?: { message: string } }[] = []
  const service = await statsService(t, { log: (line) => lines.push(JSON.parse(line)) })
  await denyReading(service.db)
  const { response } = await requestStats(service)
  t.match(response.json(), { status: 500, code: 'internal_error' })
  const isLogged = /permission denied for table quote_figures/
  t.ok(lines.some(({ level, err }) => level === 50 && isLogged.test(err?.message ?? '')))
})

t.test('a defect is logged once if older statistics are sent, and also its end', async (t) => {
  const lines: { level: number; msg: string; degraded?: boolean }[] = []
  const service = await statsService(t, { log: (line) => lines.push(JSON.parse(line)) })
  const ofStatistics = () =>
    lines.flatMap(({ level, msg }) => (/Statistics .*computed/.test(msg) ? [{ level, msg }] : []))
  t.equal((await requestStats(service)).total, 0)
  await denyReading(service.db)
  await insertQuote(service.db, '1')
  const failed = 'stats; fwd=stale'
  const isFailed = ({ cacheStatus }: { cacheStatus: string }) => cacheStatus === failed
  for (let request = 0; request < 3; request++)
    t.match(await eventually(() => requestStats(service), isFailed), {
      status: 200,
      total: 0,
      cacheStatus: failed,
    })
  t.ok(lines.some(({ msg, degraded }) => msg === 'request' && degraded))
  t.match(ofStatistics(), [{ level: 50, msg: /permission denied for table quote_figures/ }])
  t.equal(ofStatistics().length, 1)
  await sql`grant select on quote_figures to ${apiRole}`.execute(service.db)
  await eventually(
    () => requestStats(service),
    ({ total }) => total === 1,
  )
  t.match(ofStatistics().slice(1), [{ level: 30, msg: 'Statistics can be computed again' }])
})

for (const [startOutage, outage] of [
  [(proxy: FaultyProxy) => proxy.refuseConnections(), 'is unreachable'],
  [(proxy: FaultyProxy) => proxy.stopForwarding(), 'hangs'],
] as const)
  t.test(`a new process sends stale statistics from Redis if PostgreSQL ${outage}`, async (t) => {
    const service = await serviceBehindFaultyProxy(t)
    await insertQuote(service.db, '1')
    t.equal((await requestStats(service)).total, 1)
    await waitForSharedStats(service)
    const newProcess = await secondInstance(t, service, { apiUrl: service.faultyProxy.url })
    // Before the new process stops, which would wait for a PostgreSQL that hangs.
    t.teardown(() => service.faultyProxy.close())
    t.match(await requestStats(newProcess, '?country=ES'), { status: 200 }, 'knows its database')
    startOutage(service.faultyProxy)
    const startedAt = Date.now()
    const stale = await eventually(
      () => requestStats(newProcess),
      // For half a second the statistics count as current. On a busy machine Redis may be too slow.
      ({ cacheStatus }) => cacheStatus.includes('stale'),
    )
    t.match(stale, { status: 200, total: 1, cacheStatus: /^stats; fwd=stale/ })
    const { asOf } = stale.response.json<{ asOf: string }>()
    t.ok(Date.parse(asOf) <= startedAt, `as of ${asOf}, before the outage`)
    if (outage === 'is unreachable')
      t.match(await requestStats(newProcess, '?country=FR'), { status: 503 })
  })

/** Waits until the statistics are in Redis. The service writes it in the background. */
const waitForSharedStats = ({ redis, config }: TestService) =>
  eventually(
    () => redis.keys(`${config.REDIS_PREFIX}stats:*`),
    (keys) => keys.length > 0,
  )
