// Search with malformed and hostile input. docs/security.md explains the numbers S30 to S38: each
// is a published weakness of other systems that the test tries.
import { readFileSync } from 'node:fs'
import t from 'tap'
import type { SearchResponse } from '../../src/search/schema.ts'
import { testBothSources } from '../support/service/both-sources.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { type TestService, testService } from '../support/service/test-service.ts'

lengthenTimeouts(t)

const products = [
  { sku: 'V-1', name: 'Martillo 100% acero', category: 'Herramientas', brand: 'Uno' },
  { sku: 'V-2', name: 'Taladro_largo', category: 'Herramientas', brand: 'Dos' },
  { sku: 'V-3', name: '<b>Broca</b> & <script>alert(1)</script>', category: 'Brocas' },
  { sku: 'H-1', name: 'Martillo secreto', category: 'Secretos', brand: 'Oculta', active: false },
]

const junk = [
  ' ',
  '\t\n',
  '...',
  '¿?¡!',
  '----',
  '""""',
  '"',
  "'",
  '-',
  '- -',
  '😀',
  '👩‍👩‍👧‍👦',
  '漢字',
  'عربى',
  'עברית',
  'ไทย',
  'Ω≈ç√',
  'ﬁ',
  'İstanbul',
  'ß',
  // PostgreSQL folds these letters and digits into signs.
  'Hawai\u02bbi',
  '\u02bcabc \u02bc',
  '\u0149abc',
  '1½ x½y',
  '⑴abc⒈',
  '\u02bdabc\u02ba\u02d0',
  '\u200b',
  '\u202emartillo',
  '\ufeff',
  '\u0000',
  '\u0001\u001f\u007f',
  '\ud800',
  'a\udc00b',
  'a\u0301\u0301\u0301\u0301',
  '\u0301',
  'de \u0301',
  '1/0',
  '2x',
  '2x4x8x10x12x14x16',
  '9'.repeat(200),
  '1 '.repeat(99),
  'a b c d e f g h i j k l m n',
  'x'.repeat(200),
  'https://example.com/?q=1',
  '../../etc/passwd',
  '{"$gt":""}',
  '{{7*7}}',
  '<script>alert(1)</script>',
  'null',
  'undefined',
  'NaN',
  '0x41',
  "Robert'); DROP TABLE products;--",
]

const long = 'a'.repeat(201)
const bounds: [name: string, good: string[], bad: string[]][] = [
  [
    'limit',
    ['1', '2', '49', '50'],
    [...'0,-1,51,1.5,5.0,1e1,0x10,0b1, 8,8 ,+8,1_0,٣,, ,NaN,x'.split(','), '9'.repeat(20)],
  ],
  ['offset', ['0', '1', '999', '1000'], '-1,1001,0.5,1e2,0x0,Infinity,x,'.split(',')],
  ['category', ['a', long.slice(1)], ['', long]],
  ['brand', ['a', long.slice(1)], ['', long]],
  [
    'facets',
    ['category', 'brand', 'category,brand', 'brand,category', 'brand,brand'],
    ['categories', 'price', 'category,', ',brand', 'category brand', ''],
  ],
  [
    'q',
    ['', ' ', long.slice(1), ` ${long.slice(1)} `, '😀'.repeat(128), 'n\u0303'.repeat(200)],
    [long, '😀'.repeat(129), '漢'.repeat(171), 'a'.repeat(10_000)],
  ],
]

testBothSources(t, products, async (t, { service }) => {
  const get = (query: string) => service.app.inject(`/api/search?${query}`)
  const search = async (parameters: Record<string, string>) =>
    (await get(String(new URLSearchParams(parameters)))).json<SearchResponse>()

  t.test('wildcards and escapes are text and match nothing else (S30)', async (t) => {
    const signs = '% _ * \\ %% \\% _____ %a% \' ";-- :* ! &| () <->'.split(' ')
    for (const q of [...signs, "' or '1'='1"]) {
      const response = await get(`q=${encodeURIComponent(q)}`)
      t.equal(response.statusCode, 200, q)
      if (!/[a-z0-9]/i.test(q)) t.equal(response.json<SearchResponse>().total, 0, q)
      t.notMatch(response.body, /secreto/, q)
    }
  })

  t.test('filter syntax in a filter value is text (S31)', async (t) => {
    for (const value of [
      '" OR active = false OR category = "',
      "' OR '1'='1",
      'Secretos" OR "1"="1',
      'a OR b',
      ...'[ ] ( \\ \\" {{ TO'.split(' '),
    ])
      for (const name of ['category', 'brand']) {
        const { hits, total } = await search({ q: 'martillo', [name]: value })
        t.same({ hits, total }, { hits: [], total: 0 }, `${name}=${value}`)
      }
  })

  t.test('only documented parameters and facets are accepted, once (S32, S34)', async (t) => {
    for (const query of [
      ...'q[]=a q[$ne]=a q=a&q=b filter=x limit=1&limit=2 sort=name active=false'.split(' '),
      ...'__proto__=1 constructor=1 facets=active facets=category,active facets=id'.split(' '),
      ...'facets=sku_key facets=category;drop+table+products facets=* facets='.split(' '),
    ]) {
      const response = await get(query)
      t.equal(response.statusCode, 400, query)
      t.match(response.json(), { code: 'invalid_parameter' }, query)
    }
  })

  t.test('inactive products are excluded from hits, facets and totals (S33)', async (t) => {
    for (const q of [
      '',
      'martillo',
      'secreto',
      'H-1',
      'h1',
      'martillo secreto',
      'secreto taladro',
    ]) {
      const response = await search({ q, facets: 'category,brand', limit: '50' })
      t.notMatch(JSON.stringify(response.hits), /secreto/, q)
      t.notOk('Secretos' in (response.facets?.category ?? {}), q)
      t.notOk('Oculta' in (response.facets?.brand ?? {}), q)
      t.ok(response.total <= 3, q)
    }
    t.same((await search({ q: 'martillo', category: 'Secretos' })).total, 0)
  })

  t.test(
    'every request gets its own response, never that of a similar request (S35)',
    async (t) => {
      const requests: Record<string, string>[] = [
        { q: 'martillo' },
        { q: 'martillo', limit: '1' },
        { q: 'martillo', offset: '1' },
        { q: 'martillo', category: 'Brocas' },
        { q: 'martillo', brand: 'Brocas' },
        { q: 'martillo', facets: 'category' },
        { q: 'martillo', facets: 'brand' },
        { q: 'taladro' },
        { q: '' },
      ]
      const firstResponses = []
      for (const request of requests) firstResponses.push(await search(request))
      for (const [index, request] of requests.entries()) {
        const { hits, total, facets } = await search(request)
        t.same(
          { hits, total, facets },
          {
            hits: firstResponses[index]?.hits,
            total: firstResponses[index]?.total,
            facets: firstResponses[index]?.facets,
          },
          JSON.stringify(request),
        )
      }
      t.match(firstResponses[0]?.hits, [{ sku: 'V-1' }])
      t.same(firstResponses[4]?.hits, [])
      t.notSame(firstResponses[0]?.hits, firstResponses[7]?.hits)
    },
  )

  t.test('highlights are offsets, and stored markup is returned unchanged (S36)', async (t) => {
    const response = await get('q=broca')
    t.match(response.headers['content-type'], /^application\/json/)
    t.ok(response.body.includes('<b>Broca</b>'), 'the name is unchanged')
    t.notMatch(response.body, /<em>|<mark>/)
    const { hits } = response.json<SearchResponse>()
    t.match(hits, [{ sku: 'V-3', highlights: { category: [[0, 5]] } }])
    for (const { highlights } of hits) {
      for (const ranges of Object.values(highlights))
        for (const range of ranges as unknown[]) t.match(range, [Number, Number])
    }
  })

  t.test('responses and errors contain no key and no address of a server (S37)', async (t) => {
    for (const query of ['q=martillo', 'q[]=x', 'limit=0']) {
      const { body, headers } = await get(query)
      for (const secret of [
        service.config.MEILI_SEARCH_KEY,
        service.config.MEILI_URL,
        service.config.SEARCH_INDEX,
        service.url,
      ]) {
        t.notOk((body + JSON.stringify(headers)).includes(secret), query)
      }
    }
  })

  t.test('junk gets a bounded response, and malformed bytes get a 400 (S38)', async (t) => {
    for (const q of junk) {
      const response = await get(`q=${encodeURIComponent(q.toWellFormed())}`)
      t.equal(response.statusCode, 200, JSON.stringify(q.slice(0, 40)))
      t.ok(response.body.length < 100_000)
    }
    const wellFormed = '%00 a%00b %0d%0aset-cookie:x %EF%BF%BF %EF%BB%BFmartillo'.split(' ')
    // Bytes: a lone surrogate in CESU-8, overlong and truncated sequences, a bare percent sign.
    const malformed = '%FF martillo%FF %ED%A0%80 %ED%A0%BD%ED%B8%80 %C0%AF %C3 % %zz'.split(' ')
    for (const raw of [...wellFormed, ...malformed]) {
      const response = await get(`q=${raw}`)
      t.notOk(response.headers['set-cookie'])
      t.equal(response.statusCode, wellFormed.includes(raw) ? 200 : 400, raw)
      if (wellFormed.includes(raw)) continue
      const detail = 'must be UTF-8, percent-encoded'
      t.match(response.json(), { errors: [{ parameter: 'q', detail }] }, raw)
    }
    t.equal((await search({ q: 'martillo\u0000acero' })).hits[0]?.sku, 'V-1')
    t.equal((await search({ q: 'martillo '.repeat(11) })).hits[0]?.sku, 'V-1', 'eleven words')
  })

  t.test('every bound of every parameter is enforced', async (t) => {
    const check = async (query: string, status: number, parameter = query.split('=')[0]) => {
      const response = await get(query)
      t.equal(response.statusCode, status, `${query.slice(0, 40)} (${query.length})`)
      if (status === 200) return
      t.equal(response.headers['content-type'], 'application/problem+json; charset=utf-8')
      t.match(response.json(), { code: 'invalid_parameter', errors: [{ parameter }] }, query)
    }
    for (const [name, good, bad] of bounds) {
      for (const value of good) await check(`${name}=${encodeURIComponent(value)}`, 200)
      for (const value of bad) await check(`${name}=${encodeURIComponent(value)}`, 400)
    }
    for (const query of ['', 'q', 'q=a=b', 'q=a?limit=2', '&&q=a&', '%71=a', 'limit=007'])
      await check(query, 200)
    for (const query of ['q=a&%71=b', 'limit=5&limit=6', 'category=a&category=b'])
      await check(query, 400)
    for (const query of ['Q=a', '=a', 'catgory=x', 'category=%00', 'brand=x%00'])
      await check(query, 400)
    const { query } = await search({ q: ' can\u0303a\u0007 ' })
    t.equal(query, 'caña', 'trimmed, in NFC, without control characters')
  })
})

t.test('package.json requires Kysely 0.28.14 or later (S34)', async (t) => {
  const manifest = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { dependencies: Record<string, string> }
  const [major = 0, minor = 0, patch = 0] = (manifest.dependencies.kysely ?? '')
    .split('.')
    .map(Number)
  t.ok(major > 0 || minor > 28 || (minor === 28 && patch >= 14))
})

t.test('the search key of the API can only search (S37)', async (t) => {
  const service: TestService = await testService(t)
  const { MEILI_URL, MEILI_SEARCH_KEY, SEARCH_INDEX } = service.config
  const status = async (method: string, path: string, body?: object) =>
    (
      await fetch(MEILI_URL + path, {
        method,
        headers: {
          authorization: `Bearer ${MEILI_SEARCH_KEY}`,
          'content-type': 'application/json',
        },
        ...(body && { body: JSON.stringify(body) }),
      })
    ).status
  t.equal(await status('POST', `/indexes/${SEARCH_INDEX}/search`, { q: '' }), 200)
  for (const [method, path, body] of [
    ['GET', '/keys'],
    ['GET', '/indexes'],
    ['GET', `/indexes/${SEARCH_INDEX}/documents`],
    ['GET', `/indexes/${SEARCH_INDEX}/settings`],
    ['GET', '/stats'],
    ['GET', '/tasks'],
    ['POST', `/indexes/${SEARCH_INDEX}/documents`, [{ id: 1 }]],
    ['DELETE', `/indexes/${SEARCH_INDEX}`],
    ['POST', '/dumps'],
  ] as const) {
    t.equal(await status(method, path, body as object | undefined), 403, `${method} ${path}`)
  }
})
