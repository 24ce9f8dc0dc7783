// Rate limits of several processes, with and without Redis.
import t, { type Test } from 'tap'
import { redisCommandTimeout } from '../../src/redis/redis-connection.ts'
import { servers } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { freezeDate } from '../support/fresh-window.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { type TestService, testService } from '../support/service/test-service.ts'

const requestStats = async ({ app }: TestService, remoteAddress = '192.0.2.1') =>
  app.inject({ url: '/api/stats', remoteAddress })

/** Sends requests one after the other and returns how many are not rejected. */
async function countAccepted(
  service: TestService,
  requests: number,
  remoteAddress?: string,
): Promise<number> {
  let count = 0
  for (let number = 0; number < requests; number += 1) {
    const { statusCode } = await requestStats(service, remoteAddress)
    if (statusCode === 200) count += 1
  }
  return count
}

/** Returns two services that count in the same Redis, also if Redis is slow. */
const startPair = async (t: Test, limit: number) => {
  replaceUntilEnd(t, redisCommandTimeout, { ms: 10_000 })
  const first = await testService(t, { config: { STATS_LIMIT_PER_MINUTE: limit }, index: false })
  const config = { STATS_LIMIT_PER_MINUTE: limit, REDIS_PREFIX: first.config.REDIS_PREFIX }
  return [first, await testService(t, { database: first, config, index: false })] as const
}

t.test('applies a small limit exactly across processes', async (t) => {
  const [first, other] = await startPair(t, 10)
  freezeDate(t)
  t.equal((await countAccepted(first, 6)) + (await countAccepted(other, 6)), 10)
  const response = await requestStats(other)
  t.equal(response.statusCode, 429)
  t.match(
    response.json().detail,
    /^The limit is 10 requests per minute\. Try again in \d+ seconds?\.$/,
  )
  t.equal(response.headers['ratelimit-limit'], '10')
  t.equal(response.headers['ratelimit-remaining'], '0')
  t.ok(Number(response.headers['retry-after']) >= 1)
  t.equal(await countAccepted(other, 1, '192.0.2.2'), 1, 'another caller has its own limit')
})

t.test(
  'exceeds a large limit by at most two batches of a twentieth, and never rejects early',
  async (t) => {
    const [first, other] = await startPair(t, 100)
    freezeDate(t)
    t.equal(await countAccepted(first, 100), 100, 'a single process counts exactly')
    t.equal(await countAccepted(first, 5), 0)
    const excess = await countAccepted(other, 30)
    t.ok(excess <= 10, `${excess} accepted by the other process`)
  },
)

t.test('limits per process while Redis is unreachable or hangs', async (t) => {
  const { redisUrl } = await servers()
  const faultyProxy = await startFaultyProxy(t, redisUrl)
  const service = await testService(t, {
    config: { REDIS_URL: faultyProxy.url, STATS_LIMIT_PER_MINUTE: 10 },
    index: false,
  })
  freezeDate(t)
  t.equal(await countAccepted(service, 3), 3)
  faultyProxy.refuseConnections()
  t.equal(await countAccepted(service, 20), 7)
  faultyProxy.stopForwarding()
  t.equal(await countAccepted(service, 20, '192.0.2.3'), 10)
})

t.test('adds what it counted alone to the shared count when Redis answers again', async (t) => {
  replaceUntilEnd(t, redisCommandTimeout, { ms: 10_000 })
  const { redisUrl } = await servers()
  const faultyProxy = await startFaultyProxy(t, redisUrl)
  const limit = { STATS_LIMIT_PER_MINUTE: 10 }
  const service = await testService(t, {
    config: { ...limit, REDIS_URL: faultyProxy.url },
    index: false,
  })
  const other = await testService(t, {
    database: service,
    config: { ...limit, REDIS_PREFIX: service.config.REDIS_PREFIX },
    index: false,
  })
  freezeDate(t)
  t.equal(await countAccepted(service, 2), 2)
  faultyProxy.refuseConnections()
  t.equal(await countAccepted(service, 5), 5)
  faultyProxy.restore()
  let lastAddress = 0
  const isShared = await eventually(async () => {
    lastAddress += 1
    await requestStats(service, `198.51.100.${lastAddress}`)
    const { headers } = await requestStats(other, `198.51.100.${lastAddress}`)
    return headers['ratelimit-remaining'] === '8'
  }, Boolean)
  t.ok(isShared, 'both count in Redis again')
  t.equal(await countAccepted(service, 2), 2, '9 of 10')
  t.equal(await countAccepted(other, 5), 1)
  t.equal(await countAccepted(service, 5), 0)
})
