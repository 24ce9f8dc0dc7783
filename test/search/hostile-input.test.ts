// Search with malformed and hostile input. docs/security.md explains the numbers S30 to S38: each
// is a published weakness of other systems that the test tries.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { lengthenSearchLimits } from '../support/longer-limits.ts'
import { type TestService, testService } from '../support/test-service.ts'

lengthenSearchLimits(t)

type Answer = {
  query: string
  hits: { sku: string; highlights: object }[]
  total: number
  facets?: Record<string, Record<string, number>>
}

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
  '\u200b',
  '\u202emartillo',
  '\ufeff',
  '\u0000',
  '\u0001\u001f\u007f',
  '\ud800',
  'a\udc00b',
  'a\u0301\u0301\u0301\u0301',
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

// Each test runs with the engine, and with PostgreSQL alone.
for (const source of ['index', 'database'] as const) {
  t.test(`source: ${source}`, async (t) => {
    const service = await testService(
      t,
      source === 'database' ? { config: { MEILI_URL: 'http://127.0.0.1:9' } } : {},
    )
    await service.db.insertInto('products').values(products).execute()
    if (source === 'index') await service.sync()
    const get = (query: string) => service.app.inject(`/api/search?${query}`)
    const search = async (parameters: Record<string, string>) =>
      (await get(String(new URLSearchParams(parameters)))).json<Answer>()

    t.test('wildcards and escapes are text and match nothing else (S30)', async (t) => {
      for (const q of [
        '%',
        '_',
        '*',
        '\\',
        '%%',
        '\\%',
        '_____',
        '%a%',
        "'",
        '";--',
        "' or '1'='1",
        ':*',
        '!',
        '&|',
        '()',
        '<->',
      ]) {
        const response = await get(`q=${encodeURIComponent(q)}`)
        t.equal(response.statusCode, 200, q)
        if (!/[a-z0-9]/i.test(q)) t.equal(response.json<Answer>().total, 0, q)
        t.notMatch(response.body, /secreto/, q)
      }
    })

    t.test('filter syntax in a filter value is text (S31)', async (t) => {
      for (const value of [
        '" OR active = false OR category = "',
        "' OR '1'='1",
        'Secretos" OR "1"="1',
        '[',
        ']',
        '(',
        'a OR b',
        '\\',
        '\\"',
        '{{',
        'TO',
      ]) {
        for (const name of ['category', 'brand']) {
          const answer = await search({ q: 'martillo', [name]: value })
          t.same(answer.hits, [], `${name}=${value}`)
          t.equal(answer.total, 0)
        }
      }
    })

    t.test(
      'arrays, objects, repeated and unknown parameters are rejected with 400 (S32)',
      async (t) => {
        for (const query of [
          'q[]=a',
          'q[$ne]=a',
          'q=a&q=b',
          'filter=x',
          'limit=1&limit=2',
          'sort=name',
          'active=false',
          '__proto__=1',
          'constructor=1',
        ]) {
          const response = await get(query)
          t.equal(response.statusCode, 400, query)
          t.match(response.json(), { code: 'invalid_parameter' }, query)
        }
      },
    )

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
        const answer = await search({ q, facets: 'category,brand', limit: '50' })
        t.notMatch(JSON.stringify(answer.hits), /secreto/, q)
        t.notOk('Secretos' in (answer.facets?.category ?? {}), q)
        t.notOk('Oculta' in (answer.facets?.brand ?? {}), q)
        t.ok(answer.total <= 3, q)
      }
      t.same((await search({ q: 'martillo', category: 'Secretos' })).total, 0)
    })

    t.test('only the documented facet names are accepted (S34)', async (t) => {
      for (const facets of [
        'active',
        'category,active',
        'id',
        'sku_key',
        'category;drop table products',
        '*',
        '',
      ]) {
        t.equal((await get(`q=a&facets=${encodeURIComponent(facets)}`)).statusCode, 400, facets)
      }
    })

    t.test(
      'every request gets its own answer, never that of a similar request (S35)',
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
        const firstAnswers = []
        for (const request of requests) firstAnswers.push(await search(request))
        for (const [index, request] of requests.entries()) {
          const { hits, total, facets } = await search(request)
          t.same(
            { hits, total, facets },
            {
              hits: firstAnswers[index]?.hits,
              total: firstAnswers[index]?.total,
              facets: firstAnswers[index]?.facets,
            },
            JSON.stringify(request),
          )
        }
        t.same(firstAnswers[4]?.hits, [])
        t.notSame(firstAnswers[0]?.hits, firstAnswers[7]?.hits)
      },
    )

    t.test('highlights are offsets, and stored markup is returned unchanged (S36)', async (t) => {
      const response = await get('q=broca')
      t.match(response.headers['content-type'], /^application\/json/)
      t.ok(response.body.includes('<b>Broca</b>'), 'the name is unchanged')
      t.notMatch(response.body, /<em>|<mark>/)
      for (const { highlights } of response.json<Answer>().hits) {
        for (const ranges of Object.values(highlights))
          for (const range of ranges as unknown[]) t.match(range, [Number, Number])
      }
    })

    t.test('answers and errors contain no key and no address of a server (S37)', async (t) => {
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

    t.test('junk gets a bounded answer or a 400, never a 500 (S38)', async (t) => {
      for (const q of junk) {
        const response = await get(`q=${encodeURIComponent(q.toWellFormed())}`)
        t.ok(
          [200, 400].includes(response.statusCode),
          `${response.statusCode} for ${JSON.stringify(q.slice(0, 40))}`,
        )
        t.ok(response.body.length < 100_000)
      }
      // Bytes: a lone surrogate in CESU-8, overlong and truncated sequences, a bare percent sign.
      for (const raw of [
        '%FF',
        'martillo%FF',
        '%ED%A0%80',
        '%ED%A0%BD%ED%B8%80',
        '%C0%AF',
        '%C3',
        '%',
        '%zz',
        '%00',
        'a%00b',
        '%0d%0aset-cookie:x',
        '%EF%BF%BF',
        '%EF%BB%BFmartillo',
      ]) {
        const response = await get(`q=${raw}`)
        const wellFormed = [
          '%00',
          'a%00b',
          '%0d%0aset-cookie:x',
          '%EF%BF%BF',
          '%EF%BB%BFmartillo',
        ].includes(raw)
        t.equal(response.statusCode, wellFormed ? 200 : 400, raw)
        if (!wellFormed)
          t.match(
            response.json(),
            { errors: [{ parameter: 'q', detail: 'must be UTF-8, percent-encoded' }] },
            raw,
          )
        t.notOk(response.headers['set-cookie'])
      }
      t.equal((await search({ q: 'martillo\u0000acero' })).hits[0]?.sku, 'V-1')
      t.equal((await search({ q: 'martillo '.repeat(11) })).hits[0]?.sku, 'V-1', 'eleven words')
    })

    t.test('every bound of every parameter is enforced', async (t) => {
      const status = async (parameters: Record<string, string>) =>
        (await get(String(new URLSearchParams(parameters)))).statusCode
      for (const [name, good, bad] of [
        [
          'limit',
          ['1', '2', '49', '50'],
          [
            '0',
            '-1',
            '51',
            '1.5',
            '1e1',
            '0x10',
            '0b1',
            ' 8',
            '8 ',
            '+8',
            '1_0',
            '٣',
            '',
            ' ',
            'NaN',
            '99999999999999999999',
          ],
        ],
        [
          'offset',
          ['0', '1', '999', '1000'],
          ['-1', '1001', '0.5', '1e2', '0x0', 'Infinity', 'x', ''],
        ],
        ['category', ['a', 'a'.repeat(200)], ['', 'a'.repeat(201)]],
        ['brand', ['a', 'a'.repeat(200)], ['', 'a'.repeat(201)]],
        [
          'facets',
          ['category', 'brand', 'category,brand', 'brand,category', 'brand,brand'],
          ['categories', 'category,', ',brand', 'category brand'],
        ],
        [
          'q',
          [
            '',
            ' ',
            'a'.repeat(199),
            'a'.repeat(200),
            ` ${'a'.repeat(200)} `,
            '😀'.repeat(128),
            'ñ'.repeat(200),
          ],
          ['a'.repeat(201), '😀'.repeat(129), '漢'.repeat(171), 'a'.repeat(10_000)],
        ],
      ] as const) {
        for (const value of good)
          t.equal(
            await status({ [name]: value }),
            200,
            `${name}=${value.slice(0, 20)} (${value.length})`,
          )
        for (const value of bad)
          t.equal(
            await status({ [name]: value }),
            400,
            `${name}=${value.slice(0, 20)} (${value.length})`,
          )
      }
      t.equal(await status({ q: 'n\u0303'.repeat(200) }), 200, 'counted after NFC')
    })
  })
}

t.test('the problem explains in plain words what each parameter allows', async (t) => {
  const { app } = await testService(t)
  for (const [query, parameter, detail] of [
    ['/api/search?limit=0', 'limit', 'must be a whole number from 1 to 50'],
    ['/api/search?limit=51', 'limit', 'must be a whole number from 1 to 50'],
    ['/api/search?limit=x', 'limit', 'must be a whole number from 1 to 50'],
    ['/api/search?limit=1&limit=2', 'limit', 'must occur only once'],
    ['/api/search?offset=1001', 'offset', 'must be a whole number from 0 to 1000'],
    ['/api/search?q=a&q=b', 'q', 'must occur only once'],
    [`/api/search?q=${'a'.repeat(201)}`, 'q', 'must have at most 200 characters'],
    ['/api/search?q=%FF', 'q', 'must be UTF-8, percent-encoded'],
    ['/api/search?category=', 'category', 'must have 1 to 200 characters'],
    ['/api/search?q=a&brand=x%00', 'brand', 'must not contain the character NUL (%00)'],
    [`/api/search?brand=${'a'.repeat(201)}`, 'brand', 'must have 1 to 200 characters'],
    ['/api/search?brand=a&brand=b', 'brand', 'must occur only once'],
    ['/api/search?facets=price', 'facets', 'must be written like category or category,brand'],
    ['/api/search?sort=name', 'sort', 'is not a parameter of this path'],
    ['/api/stats?country=es', 'country', 'must be written like ES or unknown'],
    ['/api/stats?date=today', 'date', 'must be one of issued, accepted'],
    ['/api/stats?compare=x', 'compare', 'must be one of previous_period, previous_year'],
  ] as const) {
    const response = await app.inject(query)
    t.equal(response.statusCode, 400, query.slice(0, 60))
    t.match(response.json(), { errors: [{ parameter, detail }] }, query.slice(0, 60))
  }
  const both = (await app.inject('/api/search?limit=x&offset=-1')).json<{
    errors: { parameter: string }[]
  }>()
  t.same(
    both.errors.map(({ parameter }) => parameter).sort(),
    ['limit', 'offset'],
    'the problem names all invalid parameters',
  )
  for (const day of ['2026-13-01', 'x', '', '2026-1-1', '20260101']) {
    for (const parameter of ['from', 'to']) {
      const response = await app.inject(`/api/stats?${parameter}=${day}`)
      t.match(
        response.json(),
        { status: 400, errors: [{ parameter, detail: /YYYY-MM-DD/ }] },
        `${parameter}=${day}`,
      )
    }
  }
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
