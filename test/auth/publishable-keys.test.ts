// Publishable keys: rights, origins and CORS.
// Numbers such as S4 are those of the attacks in docs/security.md.
import t, { type Test } from 'tap'
import { createApiKey } from '../../src/auth/api-keys.ts'
import { parseWebOrigin } from '../../src/auth/cors.ts'
import { secretOf } from '../support/key-parts.ts'
import { bearer, createSecretKey } from '../support/secret-keys.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { type TestService, testService } from '../support/service/test-service.ts'

lengthenTimeouts(t)

const shop = 'https://shop.example'

async function serviceWithKey(t: Test, config = {}): Promise<TestService & { key: string }> {
  const settings = { ANONYMOUS_SCOPES: [], ...config }
  const service = await testService(t, { config: settings, index: false })
  const key = await createApiKey(service.db, {
    kind: 'publishable',
    name: 'Shop',
    scopes: ['search:read'],
    origins: [shop, 'http://localhost:8080'],
  })
  return { ...service, key }
}

/** The service of the tests that change no origins. */
const { app, db, key } = await serviceWithKey(t)

t.test('a page of its origin can search with the key in the URL or in Authorization', async (t) => {
  for (const method of ['GET', 'HEAD'] as const) {
    for (const request of [
      { url: `/api/search?q=a&key=${key}`, headers: { origin: shop } },
      { url: '/api/search?q=a', headers: { origin: shop, authorization: `Bearer ${key}` } },
      { url: `/api/search?key=${key}`, headers: { origin: 'http://localhost:8080' } },
    ]) {
      const response = await app.inject({ method, ...request })
      t.equal(response.statusCode, 200, response.body)
      t.equal(response.headers['access-control-allow-origin'], request.headers.origin)
      t.equal(response.headers.vary, 'Origin')
      t.equal(response.headers['access-control-allow-credentials'], undefined)
      const exposed = String(response.headers['access-control-expose-headers'])
        .toLowerCase()
        .split(', ')
      for (const name of Object.keys(response.headers).filter((name) =>
        /^ratelimit-|^x-request-id$/.test(name),
      ))
        t.ok(exposed.includes(name), `${name} can be read`)
      t.ok(exposed.includes('retry-after'))
    }
  }
})

t.test('rejects other origins, even similar ones', async (t) => {
  for (const origin of [
    'https://shop.example.evil.example',
    'https://evil.example',
    'http://shop.example',
    'https://shop.example:8443',
    'https://SHOP.example',
    'HTTPS://shop.example',
    'https://shop.example/',
    'https://sub.shop.example',
    'https://shop.example, https://evil.example',
    'http://localhost',
    'http://localhost:80800',
    'null',
    '*',
    '',
    'file://',
  ]) {
    const response = await app.inject({ url: `/api/search?key=${key}`, headers: { origin } })
    t.equal(response.statusCode, 403, origin)
    t.match(response.json(), { code: 'insufficient_scope' })
    t.equal(response.headers['access-control-allow-origin'], undefined, origin)
    t.equal(response.headers.vary, 'Origin')
    t.notMatch(response.body, key)
  }
})

t.test('rejects requests without Origin, except from pages of the service itself', async (t) => {
  const rejected = await app.inject(`/api/search?key=${key}`)
  t.equal(rejected.statusCode, 403)
  t.match(rejected.json(), { code: 'insufficient_scope', detail: /has no Origin.*secret key/ })
  // Browsers send no Origin with a GET to the site of the page.
  const ownKey = await createApiKey(db, {
    kind: 'publishable',
    name: 'Home page',
    scopes: ['search:read'],
    origins: ['https://quotes.example'],
  })
  const searchFrom = (site: string, key: string) =>
    app.inject({ url: `/api/search?key=${key}`, headers: { 'sec-fetch-site': site } })
  t.equal((await searchFrom('same-origin', ownKey)).statusCode, 200)
  t.equal(
    (await searchFrom('same-origin', key)).statusCode,
    403,
    'only if the key is bound to the origin of the service',
  )
  for (const site of ['cross-site', 'same-site', 'none'])
    t.equal((await searchFrom(site, ownKey)).statusCode, 403, site)
})

t.test('a publishable key cannot be used for another scope than search (S4)', async (t) => {
  const headers = { origin: shop }
  const stats = await app.inject({ url: '/api/stats', headers: { ...headers, ...bearer(key) } })
  t.equal(stats.statusCode, 403)
  t.match(stats.json(), { code: 'insufficient_scope', detail: /stats:read/ })
  t.equal(stats.headers['access-control-allow-origin'], undefined)
  t.equal(
    (await app.inject({ url: `/api/stats?key=${key}`, headers })).statusCode,
    401,
    'a key in the URL works only for search',
  )
  t.equal((await app.inject({ url: `/quote/share/${key}`, headers })).statusCode, 404)
  await t.rejects(
    createApiKey(db, { kind: 'publishable', name: 'x', scopes: ['stats:read'], origins: [shop] }),
    /api_keys_publishable_is_narrow/,
  )
  await t.rejects(
    createApiKey(db, { kind: 'publishable', name: 'x', scopes: ['search:read'] }),
    /api_keys_publishable_is_narrow/,
  )
})

t.test('rejects a secret key in the URL, and does not repeat it (S13)', async (t) => {
  const key = await createSecretKey(db, { scopes: ['search:read', 'stats:read'] })
  for (const url of [
    `/api/search?key=${key}`,
    `/api/stats?key=${key}`,
    `/api/search?key=${key}&key=${key}`,
    `/api/search?key=%20${key}`,
    `/api/search?k%65y=${key}`,
  ]) {
    const response = await app.inject({ url, headers: bearer(key) })
    t.equal(response.statusCode, 401, url.replace(key, '…'))
    t.match(response.json(), { code: 'unauthenticated', detail: /revoke it/ })
    t.match(response.headers['www-authenticate'], /^Bearer/)
    t.notMatch(response.body + JSON.stringify(response.headers), secretOf(key))
  }
})

t.test('rejects a repeated key', async (t) => {
  const headers = { origin: shop }
  for (const request of [
    { url: `/api/search?key=${key}&key=${key}`, headers },
    { url: `/api/search?key=${key}`, headers: { ...headers, authorization: `Bearer ${key}` } },
  ]) {
    const response = await app.inject(request)
    t.equal(response.statusCode, 400)
    t.match(response.json(), { code: 'invalid_parameter', errors: [{ parameter: 'key' }] })
  }
  t.equal(
    (await app.inject({ url: '/api/search?key=', headers })).statusCode,
    401,
    'an empty key is an invalid key',
  )
})

t.test('answers preflights for the origins of all valid keys, and only for search', async (t) => {
  const { app, db, key } = await serviceWithKey(t)
  const other = 'https://erp.example'
  await createApiKey(db, {
    kind: 'publishable',
    name: 'ERP',
    scopes: ['search:read'],
    origins: [other],
  })
  await createApiKey(db, {
    kind: 'publishable',
    name: 'old',
    scopes: ['search:read'],
    origins: ['https://old.example'],
    expiresAt: new Date(Date.now() - 1_000),
  })
  const sendPreflight = (origin: string, url = '/api/search', moreHeaders = {}) =>
    app.inject({
      method: 'OPTIONS',
      url,
      headers: {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization',
        ...moreHeaders,
      },
    })
  for (const origin of [shop, other]) {
    const { statusCode, headers, body } = await sendPreflight(origin)
    t.equal(statusCode, 204)
    t.equal(body, '')
    t.match(headers, {
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': 'Authorization',
      vary: /Origin/,
    })
    t.equal(headers['access-control-allow-credentials'], undefined)
  }
  for (const origin of [
    'https://evil.example',
    'https://old.example',
    'null',
    '*',
    'HTTPS://SHOP.EXAMPLE',
    '',
  ]) {
    const { statusCode, headers } = await sendPreflight(origin)
    t.equal(statusCode, 403, origin)
    t.equal(headers['access-control-allow-origin'], undefined)
    t.equal(headers['content-type'], 'application/problem+json; charset=utf-8')
  }
  const privateNetwork = await sendPreflight(shop, '/api/search', {
    'access-control-request-private-network': 'true',
  })
  t.equal(privateNetwork.headers['access-control-allow-private-network'], undefined)
  for (const url of ['/api/stats', `/quote/share/${'A'.repeat(43)}`]) {
    const { statusCode, headers } = await sendPreflight(shop, url)
    t.equal(statusCode, 405, url)
    t.equal(headers['access-control-allow-origin'], undefined)
  }
  t.equal(
    (await app.inject({ method: 'OPTIONS', url: '/api/search' })).statusCode,
    405,
    'OPTIONS without a preflight header is not supported',
  )

  // A preflight contains no key. The request itself is rejected with CORS headers.
  const rejected = await app.inject({ url: `/api/search?key=${key}`, headers: { origin: other } })
  t.equal(rejected.statusCode, 403)
  t.equal(rejected.headers['access-control-allow-origin'], other)
  const unknown = await app.inject({
    url: `/api/search?key=${key.slice(0, -1)}`,
    headers: { origin: shop },
  })
  t.equal(unknown.statusCode, 401)
  t.equal(unknown.headers['access-control-allow-origin'], shop)
})

t.test('sends no CORS headers for anonymous callers and secret keys', async (t) => {
  const { app, db } = await serviceWithKey(t, { ANONYMOUS_SCOPES: ['search:read', 'stats:read'] })
  const secret = await createApiKey(db, { kind: 'secret', name: 'ERP', scopes: ['search:read'] })
  for (const headers of [
    { origin: shop },
    { origin: shop, authorization: `Bearer ${secret}` },
    { origin: 'null' },
  ]) {
    const response = await app.inject({ url: '/api/search', headers })
    t.equal(response.statusCode, 200)
    t.equal(response.headers['access-control-allow-origin'], undefined)
    t.equal(response.headers.vary, 'Origin')
  }
})

t.test('counts a publishable key per address, and pages can read the 429', async (t) => {
  const { app, key } = await serviceWithKey(t, { SEARCH_LIMIT_PER_SECOND: 3 })
  const search = (remoteAddress: string) =>
    app.inject({ url: `/api/search?key=${key}`, headers: { origin: shop }, remoteAddress })
  // Each new window lets three more requests pass.
  const responses = await Promise.all(Array.from({ length: 40 }, () => search('192.0.2.1')))
  const rejected = responses.filter(({ statusCode }) => statusCode === 429)
  t.ok(rejected.length >= 1)
  t.equal(rejected[0]?.json().detail, 'The limit is 3 requests per second. Try again in 1 second.')
  t.equal(rejected[0]?.headers['access-control-allow-origin'], shop)
  t.match(rejected[0]?.headers, {
    'ratelimit-limit': '3',
    'ratelimit-remaining': '0',
    'retry-after': /^[1-9]/,
    'ratelimit-reset': /^[0-9]/,
  })
  t.equal((await search('192.0.2.2')).statusCode, 200)
})

t.test('normalises origins as browsers write them', async (t) => {
  for (const [given, origin] of [
    ['https://shop.example', 'https://shop.example'],
    ['https://Shop.Example/', 'https://shop.example'],
    ['HTTPS://shop.example:443', 'https://shop.example'],
    ['http://localhost:8080', 'http://localhost:8080'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
    ['https://tienda.españa.example', 'https://tienda.xn--espaa-rta.example'],
  ] as const)
    t.equal(parseWebOrigin(given), origin)
  for (const given of [
    '*',
    'null',
    'https://*',
    'https://*.shop.example',
    'shop.example',
    'https://shop.example/path',
    'https://a@b.example',
    'ftp://x',
    'file:///x',
    '',
    'https://',
    'https://a.example https://b.example',
    'https://shop.example?x',
  ])
    t.equal(parseWebOrigin(given), null, given)
})
