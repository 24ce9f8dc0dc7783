// Who may call: anonymous scopes, keys, and how often.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { clientAddress } from '../../src/rate-limits/client-address.ts'
import { testDatabase, testService } from '../support/test-service.ts'

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

t.test('a caller without a key has the anonymous scopes, and none by default', async (t) => {
  const { app } = await testService(t, { config: { ANONYMOUS_SCOPES: ['search:read'] } })
  t.equal((await app.inject('/api/search')).statusCode, 200)
  const refused = await app.inject('/api/stats')
  t.equal(refused.statusCode, 401)
  t.match(String(refused.headers['www-authenticate']), /^Bearer/)
  t.match(refused.json(), { code: 'unauthenticated', detail: /scripts\/api-key\.ts/ })
})

t.test(
  'a key has exactly its own scopes, and one that is given but not valid is 401 even where none is needed',
  async (t) => {
    const { app, db } = await testService(t)
    const key = await createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['search:read'] })
    t.equal((await app.inject({ url: '/api/search', headers: bearer(key) })).statusCode, 200)
    const refused = await app.inject({ url: '/api/stats', headers: bearer(key) })
    t.equal(refused.statusCode, 403)
    t.match(refused.json(), { code: 'insufficient_scope' })

    const otherCase = key.replace(/.$/, (last) =>
      last === last.toUpperCase() ? last.toLowerCase() : last.toUpperCase(),
    )
    for (const wrong of [
      `${key}x`,
      key.slice(0, -1),
      otherCase,
      key.replace('tqs_', 'tqp_'),
      'tqs_',
      '',
      'x y',
      key.slice(4),
      `tqs_${'0'.repeat(12)}_${'A'.repeat(43)}`,
    ]) {
      const response = await app.inject({ url: '/api/search', headers: bearer(wrong) })
      t.equal(response.statusCode, wrong === key ? 200 : 401, wrong.slice(0, 20))
      t.notMatch(response.body, wrong.length > 20 ? wrong : /never/, 'the key is not repeated')
    }
    t.equal(
      (await app.inject({ url: '/api/search', headers: { authorization: 'Basic dXNlcjpwYXNz' } }))
        .statusCode,
      401,
    )
  },
)

t.test('a token of a quote link is no key, and a key is no token', async (t) => {
  const { app, db } = await testService(t)
  const key = await createApiKey(db, {
    kind: 'secret',
    name: 'ERP',
    scopes: ['search:read', 'stats:read'],
  })
  t.equal(
    (await app.inject({ url: '/api/search', headers: bearer(key.slice(-43)) })).statusCode,
    401,
  )
  t.equal((await app.inject(`/quote/share/${key}`)).statusCode, 404)
  t.equal((await app.inject(`/quote/share/${key.slice(-43)}`)).statusCode, 404)
})

t.test('an expired or revoked key is 401', async (t) => {
  const { app, db } = await testService(t)
  const expired = await createApiKey(db, {
    kind: 'secret',
    name: 'old',
    scopes: ['search:read'],
    expiresAt: new Date(Date.now() - 1_000),
  })
  t.equal((await app.inject({ url: '/api/search', headers: bearer(expired) })).statusCode, 401)
  const revoked = await createApiKey(db, { kind: 'secret', name: 'lost', scopes: ['search:read'] })
  await db
    .updateTable('api_keys')
    .set({ revoked_at: new Date() })
    .where('name', '=', 'lost')
    .execute()
  t.equal((await app.inject({ url: '/api/search', headers: bearer(revoked) })).statusCode, 401)
})

t.test('a revocation is noticed within 5 s although keys are remembered', async (t) => {
  const { app, db } = await testService(t)
  const key = await createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['search:read'] })
  t.equal((await app.inject({ url: '/api/search', headers: bearer(key) })).statusCode, 200)
  await db.updateTable('api_keys').set({ revoked_at: new Date() }).execute()
  await new Promise((resolve) => setTimeout(resolve, 4_900))
  t.equal((await app.inject({ url: '/api/search', headers: bearer(key) })).statusCode, 401)
})

t.test('only a hash of a key is stored', async (t) => {
  const { db } = await testDatabase(t)
  const key = await createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['search:read'] })
  t.match(key, /^tqs_[0-9a-z]{12}_[\w-]{43}$/)
  t.notMatch(JSON.stringify(await db.selectFrom('api_keys').selectAll().execute()), key.slice(-43))
})

t.test('limits are per key, else per address; a key may have none', async (t) => {
  const { app, db } = await testService(t, { config: { SEARCH_LIMIT_PER_SECOND: 2 } })
  const limited = await createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['search:read'] })
  const unlimited = await createApiKey(db, {
    kind: 'secret',
    name: 'demo',
    scopes: ['search:read'],
    unlimited: true,
  })
  const ask = (headers = {}, remoteAddress = '192.0.2.1') =>
    app.inject({ url: '/api/search', headers, remoteAddress })
  const statuses = async (many: number, ...from: Parameters<typeof ask>) =>
    (await Promise.all(Array.from({ length: many }, () => ask(...from))))
      .map((response) => response.statusCode)
      .sort()

  // A second may end in between: two windows' worth pass then, and never all.
  const anonymous = await statuses(8)
  t.ok(anonymous.filter((status) => status === 429).length >= 4, String(anonymous))
  const withKey = await statuses(8, bearer(limited))
  t.ok(
    withKey.includes(200) && withKey.filter((status) => status === 429).length >= 4,
    String(withKey),
  )
  t.same(new Set(await statuses(8, bearer(unlimited))), new Set([200]))

  await statuses(8, {}, '2001:db8:1:2::1')
  const neighbour = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      ask({ 'x-forwarded-for': `198.51.100.${n}` }, `2001:db8:1:2::${n + 2}`),
    ),
  )
  const refused = neighbour.filter((response) => response.statusCode === 429)
  t.ok(refused.length >= 4, 'neither other addresses of the /64 nor X-Forwarded-For evade it')
  t.match(refused[0]?.json(), { code: 'rate_limited', status: 429 })
  t.ok(Number(refused[0]?.headers['retry-after']) >= 1)
})

t.test('HEAD counts with GET', async (t) => {
  const { app } = await testService(t, { config: { LINK_LIMIT_PER_MINUTE: 3 } })
  const ask = (method: 'GET' | 'HEAD') =>
    app.inject({ method, url: `/quote/share/${'A'.repeat(43)}`, remoteAddress: '192.0.2.9' })
  // A minute may end in between: one window's worth more passes then, and never all.
  const statuses: number[] = []
  for (const method of ['GET', 'GET', 'GET', 'HEAD', 'HEAD', 'HEAD', 'GET', 'HEAD'] as const)
    statuses.push((await ask(method)).statusCode)
  t.ok(statuses.filter((status) => status === 429).length >= 2, String(statuses))
  t.ok(statuses.filter((status) => status !== 429).length <= 6, String(statuses))
})

t.test('an address is held to as a whole, an IPv6 one by its /64', async (t) => {
  t.equal(clientAddress('192.0.2.7'), '192.0.2.7')
  t.equal(clientAddress('::ffff:192.0.2.7'), '192.0.2.7')
  t.equal(clientAddress('2001:db8:0:1:aaaa::1'), clientAddress('2001:0db8:0000:0001::2'))
  t.not(clientAddress('2001:db8:0:1::1'), clientAddress('2001:db8:0:2::1'))
  t.equal(clientAddress('::1'), '0:0:0:0::/64')
  t.equal(clientAddress('fe80::1%eth0'), clientAddress('fe80::2'))
})

t.test('scripts/api-key.ts makes a key that works, once shown', async (t) => {
  const service = await testService(t)
  const run = (...words: string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, '../../scripts/api-key.ts'), ...words], {
      env: { ...process.env, DATABASE_URL: service.url },
      encoding: 'utf8',
    })
  const made = run('create', '--name', 'Dashboard', '--scopes', 'stats:read', '--expires', '30d')
  t.equal(made.status, 0, made.stderr)
  t.equal(
    (await service.app.inject({ url: '/api/stats', headers: bearer(made.stdout.trim()) }))
      .statusCode,
    200,
  )
  t.match(run('create', '--name', 'x', '--scopes', 'stats:write'), {
    status: 2,
    stderr: /stats:write/,
  })
  t.match(run('create', '--scopes', 'stats:read'), { status: 2, stderr: /--name/ })
  t.match(run('creat'), { status: 2, stderr: /--help/ })
  t.match(run('--help'), { status: 0, stdout: /Usage/ })
})

t.test(
  'every answer that refuses is a problem with the request id of the log, and no wrong method gets through',
  async (t) => {
    const lines: string[] = []
    const { app } = await testService(t, { log: (line) => lines.push(line) })
    const unknown = await app.inject('/api/serch')
    t.equal(unknown.statusCode, 404)
    t.equal(unknown.headers['content-type'], 'application/problem+json; charset=utf-8')
    t.equal(unknown.json().requestId, unknown.headers['x-request-id'])
    for (const url of ['/api/search', '/api/stats', '/quote/share/x']) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
        const response = await app.inject({
          method,
          url,
          payload: { a: 1 },
          headers: { accept: 'application/json' },
        })
        t.equal(response.statusCode, 405, `${method} ${url}`)
        t.equal(response.headers.allow, 'GET, HEAD')
        t.match(response.json(), { code: 'method_not_allowed' })
      }
    }
    t.ok(lines.every((line) => JSON.parse(line)))
  },
)
