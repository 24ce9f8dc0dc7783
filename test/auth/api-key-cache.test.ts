// The caches of API keys and of origins: simultaneous look-ups, and outages of PostgreSQL.
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { ApiKeyCache, lookUpRecovery, TooManyLookUpsError } from '../../src/auth/api-key-cache.ts'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { discardAfter, refreshAfter, waitAfter } from '../../src/auth/refreshed-value.ts'
import { createOriginCheck } from '../../src/auth/registered-origins.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { idOf } from '../support/key-parts.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { createSecretKey, unknownKey } from '../support/secret-keys.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { collectLines, silentLog } from '../support/task-logs.ts'

t.test('looks up a limited number of unknown ids at the same time, and each id once', async (t) => {
  lengthenTimeouts(t)
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
  lengthenTimeouts(t)
  const { db } = await testDatabase(t)
  const { lines, log } = collectLines()
  const cache = new ApiKeyCache(db, { log })
  const overload = async (round: number) => {
    const keys = Array.from({ length: 200 }, (_, n) => unknownKey(1_000 * round + n))
    const results = await Promise.allSettled(keys.map((key) => cache.find(key)))
    const rejected = results.filter((result) => result.status === 'rejected')
    t.ok(rejected.length > 0)
    for (const { reason } of rejected) t.type(reason, TooManyLookUpsError)
  }
  for (const round of [1, 2, 3]) await overload(round)
  const failure =
    'error: API keys that are not cached are rejected with 503 (more than 64 look-ups at the ' +
    'same time)'
  t.same(lines, [failure], 'one line, although look-ups are admitted in between')
  replaceUntilEnd(t, lookUpRecovery, { ms: 0 })
  await cache.find(unknownKey(9_000))
  t.same(lines, [failure, 'info: API keys that are not cached can be looked up again'])
})

/** From now on, each use of a cached key or origin waits for a query. */
function expireCachesAtOnce(t: Test): void {
  replaceUntilEnd(t, refreshAfter, { ms: 0 })
  replaceUntilEnd(t, waitAfter, { ms: 0 })
}

t.test('accepts cached keys while PostgreSQL hangs, and rejects other keys', async (t) => {
  const { url, db: direct } = await testDatabase(t)
  const faultyProxy = await startFaultyProxy(t, url)
  const db = openDatabase(faultyProxy.url)
  t.teardown(() => db.destroy())
  const key = await createSecretKey(direct)
  const cache = new ApiKeyCache(db, { log: silentLog })
  t.ok(await cache.find(key))
  faultyProxy.stopForwarding()
  expireCachesAtOnce(t)
  t.ok(await cache.find(key), 'still valid')
  await t.rejects(cache.find(unknownKey(1)), /did not return/)
  faultyProxy.restore()
})

t.test('notices that a key was deleted, and that its secret is another one', async (t) => {
  lengthenTimeouts(t)
  expireCachesAtOnce(t)
  const { db } = await testDatabase(t)
  const wrongSecrets: string[] = []
  const cache = new ApiKeyCache(db, {
    log: silentLog,
    onWrongSecret: (id) => wrongSecrets.push(id),
  })
  const key = await createSecretKey(db)
  t.ok(await cache.find(key))
  await db
    .updateTable('api_keys')
    .set({ secret_hash: Buffer.alloc(32) })
    .execute()
  t.equal(await cache.find(key), null)
  t.same(wrongSecrets, [idOf(key)])
  await db.deleteFrom('api_keys').execute()
  t.equal(await cache.find(key), null)
  t.equal(wrongSecrets.length, 1, 'the id of a deleted key is unknown')
})

t.test('logs once that keys cannot be read, why, and that they can be read again', async (t) => {
  replaceUntilEnd(t, lookUpRecovery, { ms: 0 })
  const { db, cache, key, lines } = await createExpiredCache(t)
  // Not an outage, but a defect: cached keys stay valid all the same.
  await sql`alter table api_keys rename column limit_factor to factor`.execute(db)
  for (const _ of [1, 2, 3]) t.ok(await cache.find(key), 'still valid')
  t.same(lines, [
    'error: API keys cannot be read (column "limit_factor" does not exist). Cached keys stay ' +
      'valid for up to 15 minutes, even if they are revoked',
  ])
  await sql`alter table api_keys rename column factor to limit_factor`.execute(db)
  for (const _ of [1, 2, 3]) t.ok(await cache.find(key))
  t.same(lines.slice(1), ['info: API keys can be read again'])
})

t.test('logs once that reads of keys fail while others succeed, and the end', async (t) => {
  const { db, cache, key, lines } = await createExpiredCache(t)
  for (const _ of [1, 2, 3]) {
    await sql`alter table api_keys rename column limit_factor to factor`.execute(db)
    t.ok(await cache.find(key), 'still valid')
    await sql`alter table api_keys rename column factor to limit_factor`.execute(db)
    t.ok(await cache.find(key))
  }
  t.equal(lines.length, 1)
  t.match(lines[0], /^error: API keys cannot be read/)
  replaceUntilEnd(t, lookUpRecovery, { ms: 0 })
  t.ok(await cache.find(key))
  t.same(lines.slice(1), ['info: API keys can be read again'])
})

t.test('uses the last list of origins for `discardAfter`, and logs the outage once', async (t) => {
  expireCachesAtOnce(t)
  replaceUntilEnd(t, discardAfter, { ms: 120_000 })
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
  await eventually(
    async () => t.equal(await isRegistered(origin), true, 'the last list is used'),
    () => lines.length > 0,
  )
  t.equal(await isRegistered(origin), true)
  discardAfter.ms = 0
  await t.rejects(isRegistered(origin), 'not for longer')
  faultyProxy.restore()
  const check = () => isRegistered(origin).catch(() => null)
  t.equal(await eventually(check, Boolean), true, 'read again')
  // The driver may report the same outage in different words. Each of them is one line.
  const failures = lines.filter((line) => line.startsWith('error: '))
  t.equal(failures.length, new Set(failures).size, 'no cause is logged twice')
  t.match(lines[0], /^error: The origins of publishable keys cannot be read \(.+2 minutes$/)
  t.equal(lines.at(-1), 'info: The origins of publishable keys can be read again')
})

/** A cache that has read a key and reads it again for each request. */
async function createExpiredCache(t: Test) {
  lengthenTimeouts(t)
  expireCachesAtOnce(t)
  const { db } = await testDatabase(t)
  const { lines, log } = collectLines()
  const cache = new ApiKeyCache(db, { log })
  const key = await createSecretKey(db)
  t.ok(await cache.find(key))
  return { db, cache, key, lines }
}
