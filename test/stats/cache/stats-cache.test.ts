// The cache of /api/stats in a process: statistics are at most two seconds old, or marked stale.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t from 'tap'
import { maxAgeMs } from '../../../src/stats/cache/stats-cache.ts'
import type { Stats } from '../../../src/stats/schema.ts'
import { eventually } from '../../support/eventually.ts'
import { bearer, createSecretKey } from '../../support/secret-keys.ts'
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
  statsUntil,
} from '../stats-service.ts'

type Result = Awaited<ReturnType<typeof requestStats>>
const isHit = ({ cacheStatus }: Result) => cacheStatus === 'stats; hit'
const isStale = ({ cacheStatus }: Result) => cacheStatus.includes('stale')

// These tests mostly wait, and each has its own database.
t.jobs = 4

t.test('the cache key contains every parameter that the statistics depend on', async (t) => {
  const service = await statsService(t)
  const scopes = ['stats:read', 'stats:detail'] as const
  const key = bearer(await createSecretKey(service.db, { scopes: [...scopes] }))
  const january = 'from=2026-01-01&to=2026-01-31'
  for (const query of [
    ...['', '?date=accepted', '?country=ES', '?country=unknown', '?currency=EUR'],
    ...['?from=2026-01-01', '?to=2026-12-31', '?compare=previous_year', '?by=customer'],
    ...['?by=product', `?${january}`, `?${january}&by=day`],
  ]) {
    t.match(await requestStats(service, query, key), { cacheStatus: /fwd=/ }, query)
    t.ok(isHit(await statsUntil(service, isHit, query, key)), query)
  }
  t.ok(isHit(await requestStats(service, '?date=issued&locale=es', key)), 'and no other parameter')
  await sleep(maxAgeMs + 500)
  const unchanged = await statsUntil(service, (result) => isHit(result) && result.age === 0)
  t.match(unchanged, { cacheStatus: 'stats; hit', age: 0 }, 'current while nothing changes')
})

t.test('a sent quote expires at midnight without a write', async (t) => {
  const service = await statsService(t)
  const valid = { status: 'sent', decided_on: null, valid_until: '2026-11-21' } as const
  await insertQuotes(service.db, [buildQuote('1', valid)])
  const readExpired = async () => {
    const { quotes } = (await requestStats(service)).response.json<Stats>()
    return quotes.byStatus.expired
  }
  t.equal(await readExpired(), 0)
  await sql`update test_today set day = '2026-11-22'`.execute(service.db)
  t.equal(await eventually(readExpired, (expired) => expired === 1), 1)
  await sql`update test_today set day = '2026-11-21'`.execute(service.db)
  await insertQuote(service.db, '2')
  await statsUntil(service, ({ total }) => total === 2)
  t.equal(await readExpired(), 1, 'the day never moves back')
})

t.test('no statistics from before a restored backup are sent as current', async (t) => {
  const service = await statsService(t)
  const { db } = service
  await insertQuote(db, '1')
  await sql`create table copy_of_quotes as select * from quotes`.execute(db)
  for (const number of ['2', '3']) await insertQuote(db, number)
  await statsUntil(service, ({ total }) => total === 3)
  await waitForSharedStats(service)
  // Like pg_restore --clean: the table is created anew, with an older version.
  const { rows } = await sql<{ definition: string }>`
    select pg_get_viewdef('unfolded_changes') || ' create view summary_state as '
      || pg_get_viewdef('summary_state') as definition
  `.execute(db)
  await sql
    .raw(`
      alter table quotes disable trigger user;
      delete from quotes;
      create table restored (like quote_summary including all);
      insert into restored select * from quote_summary;
      drop table quote_summary cascade;
      alter table restored rename to quote_summary;
      create view unfolded_changes as ${rows[0]?.definition};
      grant select on summary_state to public;
      insert into quotes overriding system value select * from copy_of_quotes;
      alter table quotes enable trigger user;
      select rebuild_summary();
      update quote_summary set version = 1
    `)
    .execute(db)
  await sleep(maxAgeMs)
  for (const process of [service, await secondInstance(t, service)]) {
    // On a busy machine the first refresh may take too long.
    const current = await statsUntil(process, (result) => !isStale(result))
    t.match(current, { total: 1 }, 'neither from the process nor from Redis')
  }
})

t.test('every response is a committed state of the last two seconds, or stale', async (t) => {
  const first = await statsService(t)
  const other = await secondInstance(t, first)
  t.same(await findWrongResponses(first.db, [first, other], 2_500), [])
})

t.test('a request waits for a refresh only if the statistics are too old', async (t) => {
  const service = await statsService(t)
  await insertQuote(service.db, '1')
  t.equal((await requestStats(service)).total, 1)
  // Statistics cannot be computed until this transaction ends.
  const lock = await service.db.startTransaction().execute()
  await sql`lock table quote_figures in access exclusive mode`.execute(lock)
  await insertUnfoldedQuotes(service.db, [buildQuote('2', {})])
  const first = await requestStats(service)
  // On a slow machine the statistics are already too old.
  t.ok(first.cacheStatus === 'stats; hit' || first.age >= 2, `${first.cacheStatus} ${first.age}`)
  t.equal(first.total, 1)
  const stale = await statsUntil(service, ({ cacheStatus }) => cacheStatus !== 'stats; hit')
  t.match(stale, { status: 200, total: 1, cacheStatus: 'stats; fwd=stale' })
  t.ok(stale.age >= 2, `Age: ${stale.age}`)
  await lock.rollback().execute()
  const current = await statsUntil(service, ({ total, age }) => total === 2 && age === 0)
  t.match(current, { total: 2, age: 0 })
})

const outages: [string, (proxy: FaultyProxy) => void][] = [
  ['is unreachable', (proxy) => proxy.refuseConnections()],
  ['hangs', (proxy) => proxy.stopForwarding()],
]
for (const [outage, start] of outages)
  t.test(`while PostgreSQL ${outage}, older statistics are sent as stale, or 503`, async (t) => {
    const service = await serviceBehindFaultyProxy(t)
    const { faultyProxy } = service
    await insertQuote(service.db, '1')
    t.equal((await requestStats(service)).total, 1)
    await waitForSharedStats(service)
    // A process that has only what is in Redis, and knows its database.
    const other = await secondInstance(t, service, { apiUrl: faultyProxy.url })
    t.match(await requestStats(other, '?country=ES'), { status: 200 })
    // Before the other process stops, which would wait for a PostgreSQL that hangs.
    t.teardown(() => faultyProxy.close())
    start(faultyProxy)
    const startedAt = Date.now()
    const insertion = insertQuote(service.db, '2')
    for (const process of [other, service]) {
      const first = await statsUntil(process, (result) => isStale(result) && result.age >= 2)
      t.match(first, { status: 200, total: 1, cacheStatus: 'stats; fwd=stale' })
      t.ok(first.age >= 2, `Age: ${first.age}`)
      t.ok(first.asOf <= startedAt, 'as of a moment before the outage')
      t.equal((await requestStats(process)).asOf, first.asOf, 'which does not advance')
    }
    if (outage === 'is unreachable') {
      const { status, response } = await requestStats(service, '?country=FR')
      t.equal(status, 503, 'nothing is cached')
      t.match(response.json(), { code: 'unavailable' })
      t.ok(Number(response.headers['retry-after']) > 0)
    }
    faultyProxy.restore()
    await insertion
    const current = await statsUntil(
      service,
      (result) => !isStale(result) && result.age === 0 && result.total === 2,
    )
    t.match(current, { status: 200, total: 2, age: 0 }, 'after the outage')
    t.ok(current.asOf > startedAt)
  })

/** Waits until the statistics are in Redis. The service writes it in the background. */
const waitForSharedStats = ({ redis, config }: TestService) =>
  eventually(
    () => redis.keys(`${config.REDIS_PREFIX}stats:*`),
    (keys) => keys.length > 0,
  )
