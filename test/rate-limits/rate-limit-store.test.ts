// What happens if counting requests fails because of a defect, and how a process counts alone.
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createStoreClass } from '../../src/rate-limits/rate-limit-store.ts'
import { OptionalRedis } from '../../src/redis/optional-redis.ts'
import { collectLines, silentLog } from '../support/task-logs.ts'

const defect = new Error('a defect')

/** Makes every access to Redis fail until `repair` is called or the test ends. */
function breakRedisAccess(t: Test): { repair(): void } {
  const { run } = OptionalRedis.prototype
  const repair = () => {
    OptionalRedis.prototype.run = run
  }
  OptionalRedis.prototype.run = async () => {
    throw defect
  }
  t.teardown(repair)
  return { repair }
}

/** Returns a function that counts requests with a limit of 100, so that a batch has five. */
function createCounter(): { count(requests: number): Promise<void>; lines: string[] } {
  const { lines, log } = collectLines()
  const Store = createStoreClass(null, { redisPrefix: 'test:', log })
  const store = new Store()
  const countOne = () =>
    new Promise<void>((resolve, reject) => {
      // A window of a year, because a new one would start with a count that is waited for.
      store.incr('192.0.2.1', (error) => (error ? reject(error) : resolve()), 31_536_000_000, 100)
    })
  const count = async (requests: number) => {
    for (let index = 0; index < requests; index += 1) await countOne()
    await yieldToOthers()
  }
  return { count, lines }
}

t.test('a defect while counting fails the request instead of leaving it waiting', async (t) => {
  breakRedisAccess(t)
  await t.rejects(createCounter().count(1), defect)
})

t.test('a defect while counting in the background is logged once with its cause', async (t) => {
  const { count, lines } = createCounter()
  await count(1)
  const { repair } = breakRedisAccess(t)
  await count(20)
  t.strictSame(lines, ['error: Requests cannot be counted for the rate limits (a defect)'])
  repair()
  await count(5)
  t.equal(lines[1], 'info: Requests can be counted for the rate limits again')
})

t.test('without Redis, requests at the same time get different numbers', async (t) => {
  const Store = createStoreClass(null, {
    redisPrefix: 'test:',
    log: silentLog,
  })
  const store = new Store()
  const countOne = () =>
    new Promise((resolve) => {
      store.incr('192.0.2.1', (_error, result) => resolve(result?.current), 31_536_000_000, 1)
    })
  t.same(await Promise.all([countOne(), countOne(), countOne()]), [1, 2, 3])
  t.equal(await countOne(), 4)
})
