// The files that browsers load from /web/: encodings, caching, and which files are served.
import { createHash } from 'node:crypto'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { createQuoteLink } from '../../src/quotes/links/manage-links.ts'
import { languages } from '../../src/texts/languages.ts'
import { versionedPath } from '../../src/web/static-files.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { testService } from '../support/service/test-service.ts'

const service = await testService(t, { index: false })
const { app } = service

t.test('pages of any origin can load the palette and must revalidate it', async (t) => {
  const response = await app.inject('/web/palette.js')
  t.equal(response.statusCode, 200)
  t.match(response.headers, {
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, no-cache',
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
    'x-content-type-options': 'nosniff',
    vary: 'accept-encoding',
  })
})

t.test('the palette is one file that imports only texts, without comments or paths', async (t) => {
  const { body } = await app.inject('/web/palette.js')
  t.match(body, /\.define\(["']product-palette["']/)
  t.notMatch(body, /\bimport\b(?!\(|\.meta\b)/, 'it runs without waiting for another file')
  const imported = [...body.matchAll(/\bimport\(["']([^"']+)["']\)/g)].map(([, path = '']) => path)
  t.same(imported.length, languages.length, 'also Catalan; English is in the script')
  for (const path of imported) {
    t.match(path, /^\.\/palette-texts-[a-z]+\.js$/)
    t.equal((await app.inject(`/web/${path}`)).statusCode, 200, path)
  }
  // The script asks for itself, to tell a refused page from an unreachable service.
  const code = body.replaceAll(/\bimport\([^)]*\)/g, '').replace('../web/palette.js', '')
  t.notMatch(code, '@param')
  t.notMatch(code, /\/\*|^\s*\/\/|src\/web|\.js["']/m)
})

t.test('the texts of every language are files of their own', async (t) => {
  for (const language of [...languages, 'ca']) {
    const response = await app.inject(`/web/palette-texts-${language}.js`)
    t.equal(response.statusCode, 200)
    t.equal(response.headers['access-control-allow-origin'], '*')
    t.match(response.body, /export ?\{/)
  }
  t.equal((await app.inject('/web/palette-texts-xx.js')).statusCode, 404)
})

t.test(
  'the palette is sent in the smallest accepted encoding, each with its own ETag',
  async (t) => {
    const get = (encoding: string, etag?: string) =>
      app.inject({
        url: '/web/palette.js',
        headers: { 'accept-encoding': encoding, ...(etag && { 'if-none-match': etag }) },
      })
    const plain = await app.inject('/web/palette.js')
    const gzip = await get('gzip, deflate')
    const brotli = await get('gzip, deflate, br, zstd')
    t.same([gzip.headers['content-encoding'], brotli.headers['content-encoding']], ['gzip', 'br'])
    t.same(
      [gunzipSync(gzip.rawPayload), brotliDecompressSync(brotli.rawPayload)],
      [plain.rawPayload, plain.rawPayload],
    )
    t.ok(gzip.rawPayload.length <= 12_300, `${gzip.rawPayload.length} bytes`)
    t.equal(new Set([plain, gzip, brotli].map(({ headers }) => headers.etag)).size, 3)

    const unchanged = await get('gzip, deflate, br, zstd', brotli.headers.etag)
    t.same([unchanged.statusCode, unchanged.body], [304, ''])
    t.match(unchanged.headers, {
      etag: brotli.headers.etag,
      'access-control-allow-origin': '*',
      'cache-control': 'public, no-cache',
    })
  },
)

t.test('the current version is cached for a year; an old one gets the current file', async (t) => {
  t.match(versionedPath('palette.js'), /^web\/palette\.js\?v=[\w-]{12}$/)
  const current = await app.inject(`/${versionedPath('palette.js')}`)
  t.equal(current.headers['cache-control'], 'public, max-age=31536000, immutable')
  const old = await app.inject('/web/palette.js?v=of-last-year')
  t.same(
    [old.statusCode, old.headers['cache-control'], old.rawPayload],
    [200, 'public, no-cache', current.rawPayload],
  )
})

t.test('the types of the palette are served, and no other file of the folder', async (t) => {
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
    '/web/palette/product-palette.js',
  ]) {
    t.equal((await app.inject(path)).statusCode, 404, path)
  }
  t.equal((await app.inject({ method: 'POST', url: '/web/palette.js' })).statusCode, 405)
})

t.test('the URLs of parts that are switched off are not found', async (t) => {
  const { app } = await testService(t, { database: service, config: { WEB_PARTS: ['none'] } })
  for (const path of ['/web/palette.js', '/dashboard', '/'])
    t.equal((await app.inject(path)).statusCode, 404, path)
})

t.test('pages check the integrity of what they load, and require trusted types', async (t) => {
  const { app } = await testService(t, { config: { WEB_PARTS: ['dashboard', 'home'] } })
  for (const path of ['/', '/dashboard']) {
    const page = await app.inject(path)
    t.match(
      page.headers['content-security-policy'],
      /require-trusted-types-for 'script'; trusted-types 'none'/,
    )
    const head = page.body.slice(0, page.body.indexOf('</head>'))
    const files = [...head.matchAll(/(?:src|href)="(web\/[^"]+)" integrity="([^"]+)"/g)]
    t.equal(files.length, head.match(/<script|rel="stylesheet"/g)?.length)
    t.ok(files.length > 2)
    for (const [, url, integrity] of files) {
      const { rawPayload } = await app.inject(`/${url}`)
      t.equal(`sha384-${createHash('sha384').update(rawPayload).digest('base64')}`, integrity)
    }
  }
})

t.test('the dashboard shows the same initials as quotes', async (t) => {
  const { app, db } = await testService(t, { config: { WEB_PARTS: ['dashboard'] }, index: false })
  await addQuote(db, 'P-1')
  const token = await createQuoteLink(db, { number: 'P-1' })
  const quote = await app.inject(`/quote/share/${token}`)
  const initials = /class="monogram"[^>]*>(?:<bdi>)?([^<]+)</.exec(quote.body)?.[1]
  t.match(initials, /^\p{Lu}{2}$/u)
  t.match((await app.inject('/dashboard')).body, `"initials":"${initials}"`)
})
