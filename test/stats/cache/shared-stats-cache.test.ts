// The cache of /api/stats in Redis: processes share statistics, and compute them if Redis fails.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { redisRecovery } from '../../../src/redis/optional-redis.ts'
import { codeHash } from '../../../src/stats/cache/code-hash.ts'
import { SharedStatsCache } from '../../../src/stats/cache/shared-stats-cache.ts'
import type { Stats, StatsWithoutAsOf } from '../../../src/stats/schema.ts'
import { servers } from '../../support/database/test-database.ts'
import { eventually } from '../../support/eventually.ts'
import { replaceUntilEnd } from '../../support/replace-until-end.ts'
import { startFaultyProxy } from '../../support/servers/faulty-proxy.ts'
import { unobserved } from '../../support/servers/redis-topologies.ts'
import { startApi } from '../../support/service/test-service.ts'
import { insertQuote } from '../insert-quotes.ts'
import { dayAfter } from '../reference-stats.ts'
import {
  requestStats,
  secondInstance,
  serviceBehindFaultyProxy,
  statsService,
} from '../stats-service.ts'

/** In seconds. Fresh statistics are younger, even on a busy machine. */
const freshAge = 3

// These tests mostly wait, and each has its own database.
t.jobs = 4

t.test('statistics are computed once and shared with other processes', async (t) => {
  const first = await statsService(t)
  await insertQuote(first.db, '1')
  const computed = await requestStats(first)
  t.match(computed, { total: 1, cacheStatus: 'stats; fwd=miss' })
  t.ok(computed.age < freshAge)
  t.match(await requestStats(first), { total: 1, cacheStatus: 'stats; hit' })
  await eventually(
    () => first.redis.keys(`${first.config.REDIS_PREFIX}stats:*`),
    (keys) => keys.length > 0,
  )
  // A process computes the statistics itself if Redis is slow, as it may be on a busy machine.
  const { other, shared } = await eventually(
    async () => {
      const other = await secondInstance(t, first)
      return { other, shared: await requestStats(other) }
    },
    ({ shared }) => shared.cacheStatus === 'stats; hit',
  )
  t.match(shared, { total: 1, cacheStatus: 'stats; hit' })
  t.ok(shared.age < freshAge)
  t.match(await requestStats(other), { total: 1, cacheStatus: 'stats; hit' })
})

t.test('two databases with one Redis and one prefix never share statistics', async (t) => {
  const first = await statsService(t)
  await insertQuote(first.db, '1')
  const { REDIS_PREFIX } = first.config
  const other = await serviceBehindFaultyProxy(t, { config: { REDIS_PREFIX } })
  for (const number of ['1', '2']) await insertQuote(other.db, number)
  t.equal((await requestStats(first)).total, 1)
  t.equal((await requestStats(first, '?country=ES')).total, 1)
  t.equal((await requestStats(other)).total, 2)
  const restarted = await secondInstance(t, other, { apiUrl: other.faultyProxy.url })
  t.equal((await requestStats(restarted, '?country=FR')).total, 0)
  await eventually(
    () => first.redis.keys(`${REDIS_PREFIX}stats:*`),
    (keys) => keys.length === 4,
  )
  other.faultyProxy.refuseConnections()
  t.match(
    await requestStats(other, '?country=ES'),
    { status: 503 },
    'the first service has shared these statistics, but of its own database',
  )
  const response = await eventually(
    () => requestStats(restarted),
    // On a busy machine Redis may not respond in time.
    ({ status }) => status === 200,
  )
  t.match(response, { status: 200, total: 2 }, 'the statistics of its own database')
})

t.test('statistics are shared only with the same database and the same code', async (t) => {
  const { redisUrl } = await servers()
  const redis = new Redis(redisUrl)
  t.teardown(() => redis.disconnect())
  const prefix = `test:${randomBytes(6).toString('hex')}:`
  const cacheOf = (code: string) => new SharedStatsCache(unobserved(redis), prefix, code)
  const version = { generation: '1', number: 1 }
  const stats = {
    stats: {} as StatsWithoutAsOf,
    version,
    knownCurrentAt: performance.now(),
  }
  cacheOf('1').write('key', stats)
  // A slow response of Redis pauses reads.
  const readEventually = () =>
    eventually(
      () => cacheOf('1').read('1', 'key'),
      (found) => found !== null,
    )
  const found = await readEventually()
  t.same({ ...found, knownCurrentAt: 0 }, { ...stats, knownCurrentAt: 0 })
  t.ok(Math.abs((found?.knownCurrentAt ?? 0) - stats.knownCurrentAt) < 50)
  t.equal(await cacheOf('1').read('2', 'key'), null)
  t.equal(await cacheOf('2').read('1', 'key'), null)
  t.match(codeHash, /^[\w-]{16}$/)
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
  const computed = { status: 200, total: 1, cacheStatus: 'stats; fwd=miss' }
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
  t.match(await requestStats(service), { status: 200, cacheStatus: 'stats; hit' })
  const refusedBefore = proxy.refusedConnections
  await eventually(
    async () => proxy.refusedConnections,
    (refused) => refused > refusedBefore + 1,
  )
  proxy.restore()
  let days = 0
  const shared = await eventually(
    async () => {
      days += 1
      const query = `?from=2026-01-01&to=${dayAfter('2026-01-01', days)}`
      await requestStats(service, query)
      // The service writes to Redis in the background.
      await sleep(100)
      return requestStats(other, query)
    },
    ({ cacheStatus }) => cacheStatus === 'stats; hit',
  )
  t.match(shared, { status: 200, cacheStatus: 'stats; hit' }, 'after the outage')
  const [first, ...others] = redisLines().slice(linesBefore)
  const isUnreachable = /^Redis is unreachable.*: each process caches and limits on its own$/
  t.match(first, { level: 40, msg: isUnreachable })
  t.match(others.at(-1), { level: 30, msg: /^Redis is reachable again/ })
  t.ok(others.length < 4, 'one line for each cause, regardless of the number of attempts')
})

t.test('an invalid entry in Redis counts as missing', async (t) => {
  const { service, redis } = await serviceWithOwnRedis(t)
  await insertQuote(service.db, '1')
  t.equal((await requestStats(service)).total, 1)
  // The service writes to Redis in the background.
  const [key = ''] = await eventually(
    () => redis.keys('*:stats:*'),
    (keys) => keys.length > 0,
  )
  const valid = (await redis.get(key)) ?? ''
  const invalidTexts = [
    '{"stats": 1',
    'null',
    '[]',
    JSON.stringify({ ...JSON.parse(valid), version: 'none' }),
    valid.replace('"total":1', '"total":7'),
    JSON.stringify({ ...JSON.parse(valid), knownCurrentAtEpochMs: 'now' }),
  ]
  const computed = { status: 200, total: 1, cacheStatus: 'stats; fwd=miss' }
  /** The Redis key of a query that is in no cache of the process. */
  const keyOf = (to: string) => key.replace('issued  ', `issued  ${to}`)
  for (const [index, text] of invalidTexts.entries()) {
    const to = dayAfter('2027-01-01', index)
    await redis.set(keyOf(to), text)
    t.match(await requestStats(service, `?to=${to}`), computed, text.slice(0, 40))
    t.not(
      await eventually(
        () => redis.get(keyOf(to)),
        (current) => current !== text,
      ),
      text,
      'replaced',
    )
  }
  await redis.lpush(keyOf('2027-02-01'), 'a list')
  t.match(await requestStats(service, '?to=2027-02-01'), computed, 'a list')
  let days = 0
  const shared = await eventually(
    async () => {
      // A slow response of Redis pauses reads, and then the statistics are computed and cached.
      days += 1
      const to = dayAfter('2027-03-01', days)
      await redis.set(keyOf(to), valid)
      return requestStats(service, `?to=${to}`)
    },
    ({ cacheStatus }) => cacheStatus === 'stats; hit',
  )
  t.match(shared, { status: 200, total: 1 }, 'a valid entry under such a key is used')
  t.equal(shared.cacheStatus, 'stats; hit')
})

t.test('a full Redis costs only the sharing', async (t) => {
  const { service, redis } = await serviceWithOwnRedis(t)
  await insertQuote(service.db, '1')
  await redis.config('SET', 'maxmemory', '1')
  const computed = { status: 200, total: 1, cacheStatus: 'stats; fwd=miss' }
  t.match(await requestStats(service, '?country=ES'), computed)
  t.match(await requestStats(service, '?country=ES'), { ...computed, cacheStatus: 'stats; hit' })
})

t.test('500 simultaneous requests cause at most one computation in each process', async (t) => {
  const service = await statsService(t)
  await insertQuote(service.db, '1')
  const env = { ANONYMOUS_SCOPES: 'stats:read', STATS_LIMIT_PER_MINUTE: '100000' }
  const apis = await Promise.all([startApi(t, service, env), startApi(t, service, env)])
  const responses = await Promise.all(
    Array.from({ length: 500 }, async (_, number) => {
      const url = apis[number % 2]?.url
      const response = await fetch(`${url}/api/stats`)
      return {
        url,
        status: response.status,
        cacheStatus: response.headers.get('cache-status'),
        total: ((await response.json()) as Stats).quotes.total,
      }
    }),
  )
  t.equal(responses.filter(({ status, total }) => status === 200 && total === 1).length, 500)
  for (const { url } of apis) {
    const computations = responses.filter(
      (response) => response.url === url && response.cacheStatus === 'stats; fwd=miss',
    ).length
    t.ok(computations <= 1, `${computations} computations`)
  }
})

/** A service with a Redis server of its own, and a connection to it that waits if it is slow. */
async function serviceWithOwnRedis(t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'tqs-redis-'))
  const server = await startRedis({ directory })
  if (!server) throw new Error('The tests need Redis: install redis-server or valkey-server.')
  t.teardown(async () => {
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  })
  const service = await statsService(t, { config: { REDIS_URL: server.url } })
  const redis = new Redis(server.url)
  t.teardown(() => redis.disconnect())
  return { service, redis }
}
