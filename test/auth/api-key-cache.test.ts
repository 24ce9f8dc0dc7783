// Keys and origins that a process has read: changes of their rows, and outages of PostgreSQL.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { discardAfter, lookUpTimeout } from '../../src/auth/refreshed-cache.ts'
import { buildRoleUrl } from '../support/database/database-roles.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { createSecretKey, statusOf } from '../support/secret-keys.ts'
import { startFaultyProxy } from '../support/servers/faulty-proxy.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService } from '../support/service/test-service.ts'

lengthenTimeouts(t)

/** From then on, each use of a key or origin reads PostgreSQL. */
const untilReadAgain = () => sleep(3_500)

/** A service that reaches PostgreSQL through a proxy, and the errors and recoveries in its log. */
async function serviceBehindProxy(t: Test) {
  const database = await testDatabase(t)
  const faultyProxy = await startFaultyProxy(t, database.url)
  const messages: string[] = []
  const { app } = await testService(t, {
    database,
    apiUrl: buildRoleUrl(faultyProxy.url, 'api'),
    log: (line) => messages.push(JSON.parse(line).msg),
    index: false,
  })
  const search = (key: string) => statusOf(app, '/api/search?sku=x', key)
  /** Other readers run in the background, and may log as well. */
  const failures = (subject: string) =>
    messages.filter((message) => message.startsWith(`${subject} cannot be read`))
  return { app, db: database.db, faultyProxy, search, failures }
}

t.test('cached keys stay valid while PostgreSQL hangs, and others get 503', async (t) => {
  const { db, faultyProxy, search, failures } = await serviceBehindProxy(t)
  const [used, unused] = [await createSecretKey(db), await createSecretKey(db)]
  t.equal(await eventually(() => search(used), Boolean), 200)
  faultyProxy.stopForwarding()
  replaceUntilEnd(t, lookUpTimeout, { ms: 1_000 })
  await untilReadAgain()
  // Without an engine and PostgreSQL there is no product, but the key was accepted.
  t.same([await search(used), await search(unused)], [503, 503])
  const [failure = '', ...others] = failures('API keys')
  t.equal(
    failure,
    'API keys cannot be read (PostgreSQL did not answer in time). Cached keys stay valid for up ' +
      'to 15 minutes, even if they are revoked',
  )
  t.same(others, [], 'logged once')
  faultyProxy.restore()
  t.equal(
    await eventually(
      () => search(unused),
      (status) => status === 200,
    ),
    200,
  )
})

t.test('cached keys stay valid while a defect prevents that they are read', async (t) => {
  const { db, search, failures } = await serviceBehindProxy(t)
  const [used, unused] = [await createSecretKey(db), await createSecretKey(db)]
  t.equal(await search(used), 200)
  await sql`alter table api_keys rename column limit_factor to factor`.execute(db)
  await untilReadAgain()
  for (const _ of [1, 2, 3]) t.equal(await search(used), 200)
  t.equal(await search(unused), 500)
  t.match(failures('API keys'), [/\(column "limit_factor" does not exist\)/])
  t.equal(failures('API keys').length, 1)
  await sql`alter table api_keys rename column factor to limit_factor`.execute(db)
  t.equal(await search(unused), 200)
})

t.test('a key that was deleted, or has another secret, is rejected', async (t) => {
  const { db, search } = await serviceBehindProxy(t)
  const isRejected = (status: number) => status === 401
  const key = await createSecretKey(db)
  t.equal(await search(key), 200)
  const { secret_hash } = await db
    .updateTable('api_keys')
    .set({ secret_hash: Buffer.alloc(32) })
    .returning(sql<Buffer>`old.secret_hash`.as('secret_hash'))
    .executeTakeFirstOrThrow()
  t.equal(await eventually(() => search(key), isRejected), 401, 'another secret')
  await db.updateTable('api_keys').set({ secret_hash }).execute()
  t.equal(
    await eventually(
      () => search(key),
      (status) => status === 200,
    ),
    200,
  )
  await db.deleteFrom('api_keys').execute()
  t.equal(await eventually(() => search(key), isRejected), 401, 'deleted')
})

t.test('many simultaneous first requests with a key are accepted', async (t) => {
  const { app, db } = await serviceBehindProxy(t)
  const key = await createSecretKey(db, { unlimited: true, scopes: ['stats:read'] })
  const statuses = await Promise.all(
    Array.from({ length: 300 }, () => statusOf(app, '/api/stats', key)),
  )
  t.same([...new Set(statuses)], [200])
})

t.test('the last list of origins is used in an outage, but not for ever', async (t) => {
  replaceUntilEnd(t, discardAfter, { ms: 6_000 })
  const { app, db, faultyProxy, failures } = await serviceBehindProxy(t)
  const origin = 'https://shop.example'
  await createApiKey(db, {
    kind: 'publishable',
    name: 'shop',
    scopes: ['search:read'],
    origins: [origin],
  })
  const headers = { origin, 'access-control-request-method': 'GET' }
  const preflight = async () =>
    (await app.inject({ url: '/api/search', method: 'OPTIONS', headers })).statusCode
  t.equal(await preflight(), 204)
  faultyProxy.refuseConnections()
  await untilReadAgain()
  t.equal(await preflight(), 204)
  t.equal(await eventually(preflight, (status) => status === 503), 503)
  faultyProxy.restore()
  t.equal(await eventually(preflight, (status) => status === 204), 204)
  // An open connection is reset, and a new one refused: perhaps two causes.
  const logged = failures('The origins of publishable keys')
  t.ok(logged.length > 0)
  t.same(logged, [...new Set(logged)], 'each cause once')
})
