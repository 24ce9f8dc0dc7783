// What browsers load from the service: /web/*.

import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { versionedPath } from '../../src/web/static-files.ts'
import { testService } from '../support/test-service.ts'

t.test(
  'the palette comes to pages of any origin, asked about at each page, and compressed as the browser likes',
  async (t) => {
    const { app } = await testService(t)
    const plain = await app.inject('/web/palette.js')
    t.equal(plain.statusCode, 200)
    t.match(plain.headers, {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, no-cache',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    })
    t.match(plain.body, "customElements.define('product-palette'")
    t.notMatch(plain.body, '@param', 'comments stay behind')

    const get = (encoding: string, etag?: string) =>
      app.inject({
        url: '/web/palette.js',
        headers: { 'accept-encoding': encoding, ...(etag && { 'if-none-match': etag }) },
      })
    const gzip = await get('gzip, deflate')
    const brotli = await get('gzip, deflate, br, zstd')
    t.same([gzip.headers['content-encoding'], brotli.headers['content-encoding']], ['gzip', 'br'])
    t.same(
      [gunzipSync(gzip.rawPayload), brotliDecompressSync(brotli.rawPayload)],
      [plain.rawPayload, plain.rawPayload],
    )
    t.ok(gzip.rawPayload.length <= 12_000, `${gzip.rawPayload.length} bytes`)
    t.equal(
      new Set([plain, gzip, brotli].map(({ headers }) => headers.etag)).size,
      3,
      'each form has its own tag',
    )

    const again = await get('gzip, deflate, br, zstd', brotli.headers.etag)
    t.same([again.statusCode, again.body], [304, ''])
    t.match(again.headers, {
      etag: brotli.headers.etag,
      'access-control-allow-origin': '*',
      'cache-control': 'public, no-cache',
    })
  },
)

t.test(
  'under its version it is kept for good, and under an old one it is what it is now',
  async (t) => {
    const { app } = await testService(t)
    const now = await app.inject(versionedPath('palette.js'))
    t.match(versionedPath('palette.js'), /^\/web\/palette\.js\?v=[\w-]{12}$/)
    t.equal(now.headers['cache-control'], 'public, max-age=31536000, immutable')
    const old = await app.inject('/web/palette.js?v=of-last-year')
    t.same(
      [old.statusCode, old.headers['cache-control'], old.rawPayload],
      [200, 'public, no-cache', now.rawPayload],
    )
  },
)

t.test('its types come along, and nothing else of the folder', async (t) => {
  const { app } = await testService(t)
  const types = await app.inject('/web/palette.d.ts')
  t.match(types.headers['content-type'], 'application/typescript')
  for (const path of [
    '/web/route.ts',
    '/web/tsconfig.json',
    '/web/',
    '/web',
    '/web/..%2fapp.ts',
    '/web/%2e%2e/app.ts',
    '/web/palette.js/',
  ]) {
    t.equal((await app.inject(path)).statusCode, 404, path)
  }
  t.equal((await app.inject({ method: 'POST', url: '/web/palette.js' })).statusCode, 405)
})

t.test('with no part switched on there is no trace of them', async (t) => {
  const { app } = await testService(t, { config: { WEB_PARTS: ['none'] } })
  for (const path of ['/web/palette.js', '/dashboard', '/'])
    t.equal((await app.inject(path)).statusCode, 404, path)
})
