// The caches of API keys and of origins: simultaneous look-ups, and outages of PostgreSQL.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import t from 'tap'
import { ApiKeyCache } from '../../src/auth/api-key-cache.ts'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { createOriginCheck } from '../../src/auth/registered-origins.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import type { Tables } from '../../src/database/table-types.ts'
import { timeouts } from '../../src/timeouts.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { createSecretKey, unknownKey } from '../support/secret-keys.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { lengthenSearchTimeouts } from '../support/service/longer-timeouts.ts'

/** Returns a log, and the lines that are written to it. */
function collectLines() {
  const lines: string[] = []
  const log = {
    error: (text: string) => lines.push(`error: ${text}`),
    info: (text: string) => lines.push(`info: ${text}`),
  }
  return { lines, log }
}

const silentLog = { error: () => undefined, info: () => undefined }

t.test('looks up a limited number of unknown ids at the same time, and each id once', async (t) => {
  lengthenSearchTimeouts(t)
  const { db } = await testDatabase(t)
  const key = await createSecretKey(db)
  const cache = new ApiKeyCache(db, { log: silentLog })
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

t.test('logs once that too many keys are looked up, and the end after a while', async (t) => {
  lengthenSearchTimeouts(t)
  const { db } = await testDatabase(t)
  const { lines, log } = collectLines()
  const cache = new ApiKeyCache(db, { log })
  const overload = async (round: number) => {
    const keys = Array.from({ length: 200 }, (_, n) => unknownKey(1_000 * round + n))
    const results = await Promise.allSettled(keys.map((key) => cache.find(key)))
    const rejected = results.filter((result) => result.status === 'rejected')
    t.ok(rejected.length > 0)
    for (const { reason } of rejected)
      t.match(reason, { status: 503, skipErrorLog: true, reason: 'too many look-ups of keys' })
  }
  for (const round of [1, 2, 3]) await overload(round)
  const failure =
    'error: API keys that are not cached are rejected with 503 (more than 64 look-ups at the ' +
    'same time)'
  t.same(lines, [failure], 'one line, although look-ups are admitted in between')
  replaceUntilEnd(t, timeouts.auth.lookUpOverload, { ms: 0 })
  await cache.find(unknownKey(9_000))
  t.same(lines, [failure, 'info: API keys that are not cached can be looked up again'])
})

t.test(
  'accepts cached keys while PostgreSQL hangs, and rejects other keys after a timeout',
  async (t) => {
    const { url, db: direct } = await testDatabase(t)
    const faultyProxy = await startFaultyProxy(t, url)
    const db = openDatabase(faultyProxy.url)
    t.teardown(() => db.destroy())
    const key = await createSecretKey(direct)
    const cache = new ApiKeyCache(db, { log: silentLog })
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

/** Returns the database, and a function that counts the queries that were started with it. */
function countQueries(db: Kysely<Tables>) {
  let count = 0
  const counted = db.withPlugin({
    transformQuery({ node }) {
      count += 1
      return node
    },
    transformResult: async ({ result }) => result,
  })
  return { counted, getCount: () => count }
}

t.test('reads a key again at most once per `keyOutageRetry` during an outage', async (t) => {
  replaceUntilEnd(t, timeouts.auth.keyRefresh, { ms: 100 })
  const { url, db: direct } = await testDatabase(t)
  const faultyProxy = await startFaultyProxy(t, url)
  const db = openDatabase(faultyProxy.url)
  t.teardown(() => db.destroy())
  const { counted, getCount } = countQueries(db)
  const cache = new ApiKeyCache(counted, { log: silentLog })
  const key = await createSecretKey(direct)
  t.ok(await cache.find(key))
  faultyProxy.refuseConnections()
  const startedAt = performance.now()
  const countBefore = getCount()
  while (performance.now() - startedAt < 2_500) {
    t.ok(await cache.find(key))
    await sleep(20)
  }
  const retryIntervals = (performance.now() - startedAt) / timeouts.auth.keyOutageRetry.ms
  const reads = getCount() - countBefore
  t.ok(reads >= 1 && reads <= retryIntervals + 1, `${reads} reads in ${retryIntervals} intervals`)
})

t.test('logs once that keys cannot be read, why, and that they can be read again', async (t) => {
  replaceUntilEnd(t, timeouts.auth.keyRefresh, { ms: 10 })
  replaceUntilEnd(t, timeouts.auth.keyOutageRetry, { ms: 10 })
  const { db } = await testDatabase(t)
  const { lines, log } = collectLines()
  const cache = new ApiKeyCache(db, { log })
  const key = await createSecretKey(db)
  t.ok(await cache.find(key))
  // Not an outage, but a defect: cached keys stay valid all the same.
  await sql`alter table api_keys rename column limit_factor to factor`.execute(db)
  const findUntilLogged = (count: number) =>
    eventually(
      async () => t.ok(await cache.find(key), 'still valid'),
      () => lines.length >= count,
    )
  await findUntilLogged(1)
  for (let n = 0; n < 5; n += 1) {
    await sleep(20)
    await cache.find(key)
  }
  t.same(lines, [
    'error: API keys cannot be read (column "limit_factor" does not exist). Cached keys stay ' +
      'valid for up to 15 minutes, even if they are revoked',
  ])
  await sql`alter table api_keys rename column factor to limit_factor`.execute(db)
  await findUntilLogged(2)
  t.same(lines.slice(1), ['info: API keys can be read again'])
})

t.test('rejects a cached key once it could not be read for `keyOutage`', async (t) => {
  replaceUntilEnd(t, timeouts.auth.keyRefresh, { ms: 50 })
  replaceUntilEnd(t, timeouts.auth.keyCache, { ms: 100 })
  replaceUntilEnd(t, timeouts.auth.keyOutageRetry, { ms: 50 })
  replaceUntilEnd(t, timeouts.auth.keyOutage, { ms: 2_000 })
  const { url, db: direct } = await testDatabase(t)
  const faultyProxy = await startFaultyProxy(t, url)
  const db = openDatabase(faultyProxy.url)
  t.teardown(() => db.destroy())
  const cache = new ApiKeyCache(db, { log: silentLog })
  const key = await createSecretKey(direct)
  const beforeRead = performance.now()
  t.ok(await cache.find(key))
  faultyProxy.refuseConnections()
  const rejectedAt = await eventually(
    async () =>
      cache.find(key).then(
        () => null,
        () => performance.now(),
      ),
    (time) => time !== null,
  )
  // There is no upper limit, because a busy machine may stop for seconds.
  const validMs = (rejectedAt ?? Number.NaN) - beforeRead
  t.ok(validMs >= timeouts.auth.keyOutage.ms, `rejected after ${validMs} ms`)
  faultyProxy.restore()
  t.ok(await eventually(() => cache.find(key).catch(() => null), Boolean), 'valid again')
})

t.test('uses the last list of origins for `originOutage`, and logs the outage once', async (t) => {
  replaceUntilEnd(t, timeouts.auth.originCache, { ms: 10 })
  replaceUntilEnd(t, timeouts.auth.originOutage, { ms: 120_000 })
  const { url, db: direct } = await testDatabase(t)
  const faultyProxy = await startFaultyProxy(t, url)
  const db = openDatabase(faultyProxy.url)
  t.teardown(() => db.destroy())
  const origin = 'https://shop.example'
  await createApiKey(direct, {
    kind: 'publishable',
    name: 'shop',
    scopes: ['search:read'],
    origins: [origin],
  })
  const { lines, log } = collectLines()
  const isRegistered = createOriginCheck(db, log)
  t.equal(await isRegistered(origin), true)
  faultyProxy.refuseConnections()
  const check = async () => {
    await sleep(20)
    return isRegistered(origin).catch(() => null)
  }
  await eventually(
    async () => t.equal(await check(), true, 'the last list is used'),
    () => lines.length > 0,
  )
  t.equal(await check(), true)
  timeouts.auth.originOutage.ms = 0
  t.equal(await eventually(check, (result) => result === null), null, 'not for longer')
  faultyProxy.restore()
  t.equal(await eventually(check, Boolean), true, 'read again')
  // The driver may report the same outage in different words. Each of them is one line.
  const failures = lines.filter((line) => line.startsWith('error: '))
  t.equal(failures.length, new Set(failures).size, 'no cause is logged twice')
  t.match(lines[0], /^error: The origins of publishable keys cannot be read \(.+2 minutes$/)
  t.equal(lines.at(-1), 'info: The origins of publishable keys can be read again')
})
