// The limit of guesses in a process without Redis, and after an outage of Redis.
import { randomUUID } from 'node:crypto'
import { mock } from 'node:test'
import t from 'tap'
import { GuessLimit, maxCountedAddresses } from '../../src/rate-limits/guess-limit.ts'
import { redisPause } from '../../src/rate-limits/rate-limit-store.ts'
import { openRedis, redisCommandTimeout } from '../../src/redis/redis-connection.ts'
import { servers } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { freezeDate } from '../support/fresh-window.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'

t.test('drops the count of the least recently used address first', async (t) => {
  // The clock stands still in the middle of a window, so that no new one starts.
  mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 1, 12, 0, 30) })
  t.teardown(() => mock.timers.reset())
  const limit = new GuessLimit({
    redis: null,
    redisPrefix: 'test:',
    maxPerMinute: 2,
    kind: 'keys',
  })
  const oldest = { ip: '198.51.100.1' }
  await limit.recordGuessOrReject(oldest)
  await limit.recordGuessOrReject(oldest)
  for (let index = 1; index < maxCountedAddresses - 1; index++)
    await limit.recordGuessOrReject({
      ip: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
    })
  const guesser = { ip: '192.0.2.1' }
  await limit.recordGuessOrReject(guesser)
  await limit.recordGuessOrReject(guesser)
  t.throws(() => limit.rejectIfExceeded(guesser), {
    code: 'rate_limited',
    message:
      'Too many unknown keys from your address: the limit is 2 per minute. ' +
      'This key was not checked, so it may be valid. Try again in 30 seconds.',
    headers: { 'retry-after': '30' },
  })
  await limit.recordGuessOrReject({ ip: '192.0.2.2' })
  t.doesNotThrow(() => limit.rejectIfExceeded(oldest))
  t.throws(() => limit.rejectIfExceeded(guesser), { code: 'rate_limited' })
})

t.test('shares the guesses that it counted alone, once Redis answers again', async (t) => {
  freezeDate(t)
  replaceUntilEnd(t, redisPause, { ms: 0 })
  replaceUntilEnd(t, redisCommandTimeout, { ms: 10_000 })
  const { redisUrl } = await servers()
  const faultyProxy = await startFaultyProxy(t, redisUrl)
  const redisPrefix = `test:${randomUUID()}:`
  const outages = { commandSucceeded: () => undefined, commandFailed: () => undefined }
  const openLimit = async (url: string) => {
    const client = await openRedis(url)
    t.teardown(() => client.disconnect())
    const redis = { client, outages }
    return {
      limit: new GuessLimit({ redis, redisPrefix, maxPerMinute: 6, kind: 'keys' }),
      canReach: () => client.ping().then(Boolean, () => false),
    }
  }
  const { limit, canReach } = await openLimit(faultyProxy.url)
  const other = await openLimit(redisUrl)
  const guesser = { ip: '192.0.2.1' }
  await limit.recordGuessOrReject(guesser)
  faultyProxy.refuseConnections()
  for (const _ of [2, 3, 4]) await limit.recordGuessOrReject(guesser)
  faultyProxy.restore()
  t.ok(await eventually(canReach, Boolean))
  for (const _ of [5, 6]) await limit.recordGuessOrReject(guesser)
  await t.rejects(other.limit.recordGuessOrReject(guesser), { code: 'rate_limited' })
})
