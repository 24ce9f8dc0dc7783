// The cache of API keys: simultaneous look-ups, and outages of PostgreSQL.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ApiKeyCache } from '../../src/auth/api-key-cache.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { timeouts } from '../../src/timeouts.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultyProxy } from '../support/faulty-proxy.ts'
import { lengthenSearchLimits } from '../support/longer-limits.ts'
import { createSecretKey, unknownKey } from '../support/secret-keys.ts'
import { testDatabase } from '../support/test-database.ts'

t.test('looks up a limited number of unknown ids at the same time, and each id once', async (t) => {
  lengthenSearchLimits(t)
  const { db } = await testDatabase(t)
  const key = await createSecretKey(db)
  const cache = new ApiKeyCache(db)
  const results = await Promise.allSettled(
    Array.from({ length: 1_000 }, async (_, n) => cache.find(unknownKey(n))),
  )
  const lookedUp = results.filter(({ status }) => status === 'fulfilled').length
  t.ok(lookedUp >= 1 && lookedUp <= 64, `${lookedUp} looked up, the others rejected`)
  const simultaneousChecks = await Promise.all(
    Array.from({ length: 500 }, async () => cache.find(key)),
  )
  t.ok(
    simultaneousChecks.every((apiKey) => apiKey?.scopes[0] === 'search:read'),
    'accepts a valid key in many simultaneous first requests',
  )
  t.equal(await cache.find(unknownKey(0)), null)
})

t.test(
  'accepts cached keys while PostgreSQL hangs, and rejects other keys after a timeout',
  async (t) => {
    const { url, db: direct } = await testDatabase(t)
    const faultyProxy = await startFaultyProxy(t, url)
    const db = openDatabase(faultyProxy.url)
    t.teardown(() => db.destroy())
    const key = await createSecretKey(direct)
    const cache = new ApiKeyCache(db)
    t.ok(await cache.find(key))
    faultyProxy.stopForwarding()
    await sleep(timeouts.auth.keyCache.ms + 100)
    // Repeated, because a busy machine may stop for as long.
    const durationOf = async (check: () => Promise<unknown>, limitMs: number) => {
      let pauseMs = 0
      const measure = async () => {
        await sleep(pauseMs)
        // The next attempt asks PostgreSQL again.
        pauseMs = timeouts.auth.keyOutageRetry.ms + 100
        const startedAt = performance.now()
        await check()
        return performance.now() - startedAt
      }
      return eventually(measure, (ms) => ms < limitMs)
    }
    const findOnce = async () => t.ok(await cache.find(key), 'still valid')
    t.ok((await durationOf(findOnce, 2_500)) < 2_500, 'after a timeout of one second')
    const findOften = async () => {
      for (let n = 0; n < 100; n += 1) await cache.find(key)
    }
    t.ok((await durationOf(findOften, 500)) < 500, 'the next checks do not wait')
    await t.rejects(async () => cache.find(unknownKey(1)), /did not return/)
    faultyProxy.restore()
  },
)
