// Authentication: anonymous scopes, scopes of keys, rate limits per key and address.
import Fastify from 'fastify'
import { sql } from 'kysely'
import t from 'tap'
import { registerAccessControl } from '../../src/auth/access-control.ts'
import { hashKey } from '../../src/auth/api-keys.ts'
import { allScopes, type Scope } from '../../src/database/table-types.ts'
import { registerErrorHandlers } from '../../src/http/error-handlers.ts'
import { logRequests } from '../../src/http/request-log.ts'
import { createMetrics } from '../../src/monitoring/process-metrics.ts'
import { GuessLimit } from '../../src/rate-limits/guess-limit.ts'
import { testDatabase } from '../support/database/test-database.ts'
import { freezeDate } from '../support/fresh-window.ts'
import { idOf, secretOf } from '../support/key-parts.ts'
import { bearer, createSecretKey, statusOf } from '../support/secret-keys.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService } from '../support/service/test-service.ts'

lengthenTimeouts(t)

/** The service of the tests that need no particular settings. */
const { app, db } = await testService(t, { index: false })

t.test('gives a caller without a key only the anonymous scopes', async (t) => {
  const { app } = await testService(t, {
    config: { ANONYMOUS_SCOPES: ['search:read'] },
    index: false,
  })
  t.equal((await app.inject('/api/search')).statusCode, 200)
  const rejected = await app.inject('/api/stats')
  t.equal(rejected.statusCode, 401)
  t.match(String(rejected.headers['www-authenticate']), /^Bearer/)
  t.match(rejected.json(), { code: 'unauthenticated', detail: /scripts\/api-key\.ts/ })
})

t.test(
  'gives a key its own scopes, and rejects an invalid key where callers need none',
  async (t) => {
    const key = `tqs_${'k'.repeat(12)}_${'Ab'.repeat(21)}C`
    await db
      .insertInto('api_keys')
      .values({
        id: idOf(key),
        kind: 'secret',
        name: 'ERP',
        secret_hash: hashKey(key),
        scopes: ['search:read'],
      })
      .execute()
    t.equal(await statusOf(app, '/api/search', key), 200)
    const rejected = await app.inject({ url: '/api/stats', headers: bearer(key) })
    t.equal(rejected.statusCode, 403)
    t.match(rejected.json(), { code: 'insufficient_scope' })

    for (const invalidKey of [
      `${key}x`,
      key.slice(0, -1),
      key.replace(/C$/, 'c'),
      key.replace('tqs_', 'tqp_'),
      'tqs_',
      '',
      'x y',
      key.slice(4),
      `tqs_${'0'.repeat(12)}_${'A'.repeat(43)}`,
    ]) {
      const response = await app.inject({ url: '/api/search', headers: bearer(invalidKey) })
      t.equal(response.statusCode, 401, invalidKey)
      if (invalidKey.length > 20) t.notMatch(response.body, invalidKey, 'the key is not repeated')
    }
  },
)

t.test('rejects a quote link token as key, and a key as token', async (t) => {
  const key = await createSecretKey(db, { scopes: ['search:read', 'stats:read'] })
  t.equal(await statusOf(app, '/api/search', secretOf(key)), 401)
  t.equal((await app.inject(`/quote/share/${key}`)).statusCode, 404)
  t.equal((await app.inject(`/quote/share/${secretOf(key)}`)).statusCode, 404)
})

const accessOptions = {
  db,
  isRegisteredOrigin: async () => true,
  anonymousScopes: [],
  guessLimit: new GuessLimit({ redis: null, redisPrefix: '', maxPerMinute: 1, kind: 'keys' }),
  ownOrigin: 'https://quotes.example',
}

t.test('the required scope of a route decides who may call it, and from which pages', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  logRequests(app, createMetrics().requests)
  registerErrorHandlers(app, [])
  registerAccessControl(app, accessOptions)
  const handler = async () => ({})
  app.get('/open', { config: { requiredScope: null } }, handler)
  app.get('/search', { config: { requiredScope: 'search:read' } }, handler)
  app.get('/stats', { config: { requiredScope: 'stats:read' } }, handler)
  app.route({ method: ['GET'], url: '/list', config: { requiredScope: 'search:read' }, handler })
  t.throws(
    () => app.get('/forgotten', handler),
    /The route \/forgotten does not state its requiredScope/,
    'no route is open by accident',
  )
  const origin = 'https://shop.example'
  const preflight = { origin, 'access-control-request-method': 'GET' }
  for (const [url, status, allowsCrossOrigin] of [
    ['/open', 200, false],
    ['/search', 401, true],
    ['/list', 401, true],
    ['/stats', 401, false],
  ] as const) {
    const allowedOrigin = allowsCrossOrigin ? origin : undefined
    for (const method of ['GET', 'HEAD'] as const) {
      const response = await app.inject({ method, url, headers: { origin } })
      t.equal(response.statusCode, status, `${method} ${url}`)
      t.equal(response.headers['access-control-allow-origin'], allowedOrigin, `${method} ${url}`)
    }
    const answer = await app.inject({ method: 'OPTIONS', url, headers: preflight })
    t.equal(answer.statusCode, allowsCrossOrigin ? 204 : 405, `preflight for ${url}`)
    t.equal(answer.headers['access-control-allow-origin'], allowedOrigin)
    t.equal((await app.inject({ method: 'POST', url })).statusCode, 405, `POST ${url}`)
  }
})

t.test('the database allows exactly the known scopes', async (t) => {
  const { rows } = await sql<{ definition: string }>`
    select pg_get_constraintdef(oid) as definition from pg_constraint
    where conname = 'api_keys_scopes_check'
  `.execute(db)
  const scopes = rows[0]?.definition.match(/(?<=')\w+:\w+(?=')/g)
  t.same(scopes, allScopes)
})

t.test('stores only the hash of a key', async (t) => {
  const { db } = await testDatabase(t)
  const key = await createSecretKey(db)
  t.match(key, /^tqs_[0-9a-z]{12}_[\w-]{43}$/)
  t.notMatch(JSON.stringify(await db.selectFrom('api_keys').selectAll().execute()), secretOf(key))
})

t.test('limits requests per key or else per address, except for unlimited keys', async (t) => {
  const { app, db } = await testService(t, { config: { STATS_LIMIT_PER_MINUTE: 2 }, index: false })
  const scopes: Scope[] = ['stats:read']
  const limited = await createSecretKey(db, { scopes })
  const unlimited = await createSecretKey(db, { scopes, name: 'demo', unlimited: true })
  const request = (headers = {}, remoteAddress = '192.0.2.1') =>
    app.inject({ url: '/api/stats', headers, remoteAddress })
  const requestEightTimes = async (...caller: Parameters<typeof request>) =>
    (await Promise.all(Array.from({ length: 8 }, () => request(...caller))))
      .map(({ statusCode }) => statusCode)
      .sort()

  const twoOfEight = [200, 200, ...Array(6).fill(429)]
  freezeDate(t)
  t.same(await requestEightTimes(), twoOfEight)
  t.same(await requestEightTimes(bearer(limited)), twoOfEight)
  t.same(await requestEightTimes(bearer(unlimited)), Array(8).fill(200))

  t.same(await requestEightTimes({}, '2001:db8:1:2::1'), twoOfEight)
  const sameNetwork = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      request({ 'x-forwarded-for': `198.51.100.${n}` }, `2001:db8:1:2::${n + 2}`),
    ),
  )
  t.same(
    sameNetwork.map(({ statusCode }) => statusCode),
    Array(8).fill(429),
    'other addresses of the /64 and X-Forwarded-For are counted as one address',
  )
  t.match(sameNetwork[0]?.json(), { code: 'rate_limited', status: 429 })
  t.ok(Number(sameNetwork[0]?.headers['retry-after']) >= 1)
})

t.test('counts HEAD and GET together', async (t) => {
  const { app } = await testService(t, { config: { LINK_GUESS_LIMIT_PER_MINUTE: 3 }, index: false })
  const openLink = (method: 'GET' | 'HEAD') =>
    app.inject({ method, url: `/quote/share/${'A'.repeat(43)}`, remoteAddress: '192.0.2.9' })
  freezeDate(t)
  const statuses: number[] = []
  for (const method of ['GET', 'GET', 'GET', 'HEAD', 'HEAD', 'HEAD', 'GET', 'HEAD'] as const)
    statuses.push((await openLink(method)).statusCode)
  t.same(statuses, [404, 404, 404, 429, 429, 429, 429, 429])
})
