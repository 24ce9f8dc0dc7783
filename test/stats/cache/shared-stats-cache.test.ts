// The cache of /api/stats in Redis: processes of one database and one release share statistics, and
// compute them if Redis fails.
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { redisRecovery } from '../../../src/redis/optional-redis.ts'
import { codeHash } from '../../../src/stats/cache/shared-stats-cache.ts'
import { servers } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { replaceUntilEnd } from '../../support/replace-until-end.ts'
import { startFaultyProxy } from '../../support/servers/faulty-proxy.ts'
import { createTemporaryDirectory } from '../../support/temporary-directory.ts'
import { insertQuote } from '../insert-quotes.ts'
import { dayAfter } from '../reference-stats.ts'
import {
  requestStats,
  secondInstance,
  serviceBehindFaultyProxy,
  statsService,
  statsUntil,
} from '../stats-service.ts'

// These tests mostly wait, and each has its own database.
t.jobs = 4

// On a busy machine the first response may be older than two seconds, and marked stale.
const computed = { status: 200, total: 1, cacheStatus: /fwd=(miss|stale)/ }
const found = { status: 200, total: 1, cacheStatus: 'stats; hit' }
const isHit = ({ cacheStatus }: { cacheStatus: string }) => cacheStatus === 'stats; hit'

t.test('statistics are computed once in each process, and shared with others', async (t) => {
  const first = await statsService(t)
  await insertQuote(first.db, '1')
  const responses = await Promise.all(Array.from({ length: 500 }, () => requestStats(first)))
  const computations = responses.filter(({ cacheStatus }) => cacheStatus === 'stats; fwd=miss')
  t.ok(computations.length <= 1, `${computations.length} computations`)
  t.equal(responses.filter(({ total }) => total === 1).length, 500)
  t.match(await statsUntil(first, isHit), found)
  const pattern = `${first.config.REDIS_PREFIX}stats:${codeHash}:*`
  const keys = await eventually(
    () => first.redis.keys(pattern),
    ({ length }) => length > 0,
  )
  t.equal(keys.length, 1, 'the key contains the code')
  // A process computes the statistics itself if Redis is slow, as it may be on a busy machine.
  const shared = await eventually(async () => requestStats(await secondInstance(t, first)), isHit)
  t.match(shared, found)
})

t.test('two databases with one Redis and one prefix never share statistics', async (t) => {
  const first = await statsService(t)
  await insertQuote(first.db, '1')
  const { REDIS_PREFIX } = first.config
  const other = await serviceBehindFaultyProxy(t, { config: { REDIS_PREFIX } })
  for (const number of ['1', '2']) await insertQuote(other.db, number)
  const restarted = await secondInstance(t, other, { apiUrl: other.faultyProxy.url })
  for (const [service, query, total] of [
    [first, '', 1],
    [first, '?country=ES', 1],
    [other, '', 2],
    [restarted, '?country=FR', 0],
  ] as const)
    t.equal((await requestStats(service, query)).total, total)
  await eventually(
    () => first.redis.keys(`${REDIS_PREFIX}stats:*`),
    (keys) => keys.length === 4,
  )
  other.faultyProxy.refuseConnections()
  const refused = await requestStats(other, '?country=ES')
  t.equal(refused.status, 503, 'Redis has these statistics only of the other database')
  // On a busy machine Redis may not respond in time.
  const response = await eventually(
    () => requestStats(restarted),
    ({ status }) => status === 200,
  )
  t.match(response, { status: 200, total: 2 }, 'the statistics of its own database')
})

t.test('a Redis that hangs or refuses connections costs only the sharing', async (t) => {
  replaceUntilEnd(t, redisRecovery, { ms: 0 })
  const { redisUrl } = await servers()
  const proxy = await startFaultyProxy(t, redisUrl)
  const lines: { level: number; msg: string }[] = []
  const service = await statsService(t, {
    config: { REDIS_URL: proxy.url },
    log: (line) => lines.push(JSON.parse(line)),
  })
  const redisLines = () => lines.filter(({ msg }) => msg.startsWith('Redis'))
  await insertQuote(service.db, '1')
  const other = await secondInstance(t, service)
  // On a busy machine the connection may still be starting, which is logged like an outage.
  await eventually(
    async () => service.redis.status,
    (status) => status === 'ready',
  )
  proxy.stopForwarding()
  t.match(await requestStats(service), computed, 'hanging')
  const linesBefore = redisLines().length
  proxy.refuseConnections()
  t.match(await requestStats(service, '?country=ES'), computed, 'refusing')
  t.match(await statsUntil(service, isHit), found)
  const refusedBefore = proxy.refusedConnections
  await eventually(
    async () => proxy.refusedConnections,
    (refused) => refused > refusedBefore + 1,
  )
  proxy.restore()
  let days = 0
  const shared = await eventually(async () => {
    days += 1
    const query = `?from=2026-01-01&to=${dayAfter('2026-04-01', days)}`
    await requestStats(service, query)
    // The service writes to Redis in the background.
    await sleep(100)
    return requestStats(other, query)
  }, isHit)
  t.match(shared, found, 'after the outage')
  const [first, ...others] = redisLines().slice(linesBefore)
  const isUnreachable = /^Redis is unreachable.*: each process caches and limits on its own$/
  t.match(first, { level: 40, msg: isUnreachable })
  t.match(others.at(-1), { level: 30, msg: /^Redis is reachable again/ })
  t.ok(others.length < 4, 'one line for each cause, regardless of the number of attempts')
})

t.test('an invalid entry in Redis counts as missing, and a full one stores none', async (t) => {
  const { service, redis } = await serviceWithOwnRedis(t)
  await insertQuote(service.db, '1')
  t.match(await requestStats(service), computed)
  // The service writes to Redis in the background.
  const [key = ''] = await eventually(
    () => redis.keys('*:stats:*'),
    (keys) => keys.length > 0,
  )
  const valid = (await redis.get(key)) ?? ''
  const changed = (values: object) => JSON.stringify({ ...JSON.parse(valid), ...values })
  /** The Redis key of a query that is in no cache of the process. */
  const keyOf = (to: string) => key.replace('issued  ', `issued  ${to}`)
  for (const [index, text] of [
    ...['{"stats": 1', 'null', '[]'],
    ...[changed({ version: 'none' }), changed({ knownCurrentAtEpochMs: 'now' })],
  ].entries()) {
    const to = dayAfter('2027-01-01', index)
    await redis.set(keyOf(to), text)
    t.match(await requestStats(service, `?to=${to}`), computed, text.slice(0, 40))
    const current = await eventually(
      () => redis.get(keyOf(to)),
      (current) => current !== text,
    )
    t.not(current, text, 'replaced')
  }
  await redis.lpush(keyOf('2027-02-01'), 'a list')
  t.match(await requestStats(service, '?to=2027-02-01'), computed, 'a list')
  let days = 0
  const shared = await eventually(async () => {
    // A slow response of Redis pauses reads, and then the statistics are computed and cached.
    days += 1
    const to = dayAfter('2027-03-01', days)
    await redis.set(keyOf(to), valid)
    return requestStats(service, `?to=${to}`)
  }, isHit)
  t.match(shared, found, 'a valid entry under such a key is used')
  await redis.config('SET', 'maxmemory', '1')
  t.match(await requestStats(service, '?country=ES'), computed)
  t.match(await statsUntil(service, isHit, '?country=ES'), found)
})

/** A service with a Redis server of its own, and a connection to it that waits if it is slow. */
async function serviceWithOwnRedis(t: Test) {
  const server = await startRedis({ directory: createTemporaryDirectory(t, 'redis') })
  if (!server) throw new Error('The tests need Redis: install redis-server or valkey-server.')
  t.teardown(() => server.stop())
  const service = await statsService(t, { config: { REDIS_URL: server.url } })
  const redis = new Redis(server.url)
  t.teardown(() => redis.disconnect())
  return { service, redis }
}
