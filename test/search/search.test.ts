// GET /api/search answered by a real search engine, and by PostgreSQL if the engine is unavailable.
import t from 'tap'
import type { SearchResponse } from '../../src/search/schema.ts'
import { rebuildIndex } from '../support/database/leased-target.ts'
import { eventually } from '../support/eventually.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { type TestService, testService, withoutEngine } from '../support/service/test-service.ts'

lengthenTimeouts(t)

const products = [
  {
    sku: 'AB-742-X',
    name: 'Martillo de bola 300 g',
    description: 'Mango de fresno',
    category: 'Herramientas',
    brand: 'Ácana',
    unit: 'C62',
    price: '12.5',
    currency: 'EUR',
    hs_code: '820520',
    origin_country: 'ES',
  },
  {
    sku: 'AB742X',
    name: 'Camión de juguete',
    category: 'Juguetes',
    price: '1500',
    currency: 'JPY',
  },
  {
    sku: 'ZZ-1',
    name: 'Taladro percutor 18 V',
    category: 'Herramientas',
    brand: 'Ácana',
    price: '89.9999',
    currency: 'EUR',
  },
  { sku: 'ZZ-2', name: 'Peña y ñandú de cerámica 😀 azul', category: 'Decoración' },
  { sku: 'ZZ-3', name: 'Agenda 2024', category: 'Papelería' },
  { sku: 'ZZ-4', name: 'Agenda 2025', category: 'Papelería' },
  { sku: 'ZZ-9', name: 'Martillo retirado', category: 'Herramientas', active: false },
]

async function search(
  { app }: Pick<TestService, 'app'>,
  parameters: Record<string, string>,
): Promise<SearchResponse> {
  const response = await app.inject(`/api/search?${new URLSearchParams(parameters)}`)
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${response.body}`)
  return response.json<SearchResponse>()
}

const skus = (response: SearchResponse) => response.hits.map((hit) => hit.sku)

t.test('the search engine', async (t) => {
  const service = await testService(t)
  await service.db.insertInto('products').values(products).execute()
  await service.sync()

  t.test('finds a product despite a typo and returns every documented field', async (t) => {
    // Null until the process has read the state of the index for the first time.
    const response = await eventually(
      () => search(service, { q: ' martilo ' }),
      ({ meta }) => meta.indexedAt !== null,
    )
    const { id } = await service.db
      .selectFrom('products')
      .select('id')
      .where('sku', '=', 'AB-742-X')
      .executeTakeFirstOrThrow()
    t.same(response, {
      query: 'martilo',
      hits: [
        {
          id,
          sku: 'AB-742-X',
          name: 'Martillo de bola 300 g',
          description: 'Mango de fresno',
          category: 'Herramientas',
          brand: 'Ácana',
          supplier: null,
          unit: 'C62',
          price: { amount: '12.50', currency: 'EUR' },
          hsCode: '820520',
          originCountry: 'ES',
          highlights: { name: [[0, 8]] },
          match: 'corrected',
        },
      ],
      total: 1,
      meta: {
        source: 'index',
        degraded: false,
        indexedAt: response.meta.indexedAt,
        corrected: [{ from: 'martilo', to: 'martillo' }],
      },
    })
    t.type(response.meta.indexedAt, 'string')
  })

  t.test(
    'finds codes from the middle and with any separators, the exact spelling first',
    async (t) => {
      t.same(skus(await search(service, { q: 'AB742X' })), ['AB742X', 'AB-742-X'])
      t.same(skus(await search(service, { q: 'AB-742-X' })), ['AB-742-X', 'AB742X'])
      t.same(skus(await search(service, { q: 'ab 742 x' })).sort(), ['AB-742-X', 'AB742X'])
      t.same(skus(await search(service, { q: '742x' })).sort(), ['AB-742-X', 'AB742X'])
      t.same(skus(await search(service, { q: '820520' })), ['AB-742-X'])
    },
  )

  t.test('allows no typo in numbers and codes', async (t) => {
    t.same(skus(await search(service, { q: '2024' })), ['ZZ-3'])
    t.same(skus(await search(service, { q: 'AB743X' })), [])
  })

  t.test('ignores accents on both sides and finds sizes without a space', async (t) => {
    t.same(skus(await search(service, { q: 'camion' })), ['AB742X'])
    t.same(skus(await search(service, { q: 'tálàdro' })), ['ZZ-1'])
    t.same(skus(await search(service, { q: '18v' })), ['ZZ-1'])
    t.same(skus(await search(service, { q: 'taladro 18v' })), ['ZZ-1'])
  })

  t.test('returns prices with the decimal places of their currency', async (t) => {
    t.same((await search(service, { q: 'camion' })).hits[0]?.price, {
      amount: '1500',
      currency: 'JPY',
    })
    t.same((await search(service, { q: 'taladro' })).hits[0]?.price, {
      amount: '89.9999',
      currency: 'EUR',
    })
    t.equal((await search(service, { q: 'peña' })).hits[0]?.price, null)
  })

  t.test('highlights in UTF-16 code units after ñ, accents and emoji', async (t) => {
    const [hit] = (await search(service, { q: 'azul' })).hits
    const [start = 0, length = 0] = hit?.highlights.name?.[0] ?? []
    t.equal(hit?.name.slice(start, start + length), 'azul')
    const [enyeHit] = (await search(service, { q: 'ñand' })).hits
    const [from = 0, count = 0] = enyeHit?.highlights.name?.[0] ?? []
    t.equal(enyeHit?.name.slice(from, from + count), 'ñand')
  })

  t.test('excludes inactive products from hits, totals and facets', async (t) => {
    const response = await search(service, { q: 'martillo', facets: 'category,brand' })
    t.same(skus(response), ['AB-742-X'])
    t.equal(response.total, 1)
    t.same(response.facets, { category: { Herramientas: 1 }, brand: { Ácana: 1 } })
    t.same(skus(await search(service, { q: 'ZZ-9' })).includes('ZZ-9'), false)
  })

  t.test('filters by exact value and treats filter syntax in a value as text', async (t) => {
    t.same(skus(await search(service, { q: 'agenda', category: 'Papelería' })), ['ZZ-3', 'ZZ-4'])
    t.same(skus(await search(service, { q: 'agenda', category: 'Herramientas' })), [])
    for (const category of [
      '" OR category = "Papelería',
      "x' OR 1=1",
      'Papelería" OR "1" = "1',
      '\\',
      '"',
      '[',
      'Herramientas OR Papelería',
    ]) {
      t.same(skus(await search(service, { q: 'agenda', category })), [], category)
    }
  })

  t.test('returns all products for an empty query, in consistent pages', async (t) => {
    const all = await search(service, { limit: '50' })
    t.equal(all.total, 6)
    t.same(
      all.hits.map(({ highlights }) => highlights),
      Array.from({ length: 6 }, () => ({})),
      'nothing is highlighted',
    )
    const paged: string[] = []
    for (let offset = 0; offset < 7; offset += 2)
      paged.push(...skus(await search(service, { limit: '2', offset: String(offset) })))
    t.same(paged, skus(all))
    const odd = skus(await search(service, { limit: '3', offset: '2' }))
    t.same(odd, skus(all).slice(2, 5))
  })

  t.test('returns exact codes in consistent pages', async (t) => {
    const all = skus(await search(service, { q: 'AB742X', limit: '50' }))
    t.equal(all.length, 2)
    const paged: string[] = []
    for (let offset = 0; offset <= all.length; offset++)
      paged.push(
        ...skus(await search(service, { q: 'AB742X', limit: '1', offset: String(offset) })),
      )
    t.same(paged, all)
  })

  t.test('treats quotes, minus signs and wildcards as text', async (t) => {
    t.same(skus(await search(service, { q: '"martillo' })), ['AB-742-X'])
    t.same(skus(await search(service, { q: '-martillo' })), ['AB-742-X'])
    for (const q of [
      '%',
      '_',
      '*',
      '\\',
      '¿?',
      '😀',
      '漢字',
      '\u0000',
      'a'.repeat(200),
      Array(11).fill('martillo').join(' '),
    ]) {
      const response = await service.app.inject(`/api/search?q=${encodeURIComponent(q)}`)
      t.equal(response.statusCode, 200, JSON.stringify(q))
    }
  })

  t.test('rejects each invalid parameter with a 400 that names it', async (t) => {
    for (const [query, parameter] of [
      ['q=a&q=b', 'q'],
      ['q[]=a', 'q[]'],
      ['q[$ne]=a', 'q[$ne]'],
      ['limit=0', 'limit'],
      ['limit=51', 'limit'],
      ['limit=x', 'limit'],
      ['limit=', 'limit'],
      ['offset=-1', 'offset'],
      ['offset=1001', 'offset'],
      ['facets=price', 'facets'],
      ['catgory=x', 'catgory'],
      [`q=${'a'.repeat(201)}`, 'q'],
      [`q=${encodeURIComponent('漢'.repeat(171))}`, 'q'],
    ] as const) {
      const response = await service.app.inject(`/api/search?${query}`)
      t.equal(response.statusCode, 400, query)
      t.equal(response.headers['content-type'], 'application/problem+json; charset=utf-8')
      t.match(response.json(), { code: 'invalid_parameter', errors: [{ parameter }] }, query)
    }
    for (const query of [
      'limit=1',
      'limit=50',
      'offset=1000',
      `q=${'a'.repeat(200)}`,
      `q=${encodeURIComponent('漢'.repeat(170))}`,
    ]) {
      t.equal(
        (await service.app.inject(`/api/search?${query}`)).statusCode,
        200,
        query.slice(0, 30),
      )
    }
  })

  t.test('answers HEAD, and forbids caches to store the response', async (t) => {
    const response = await service.app.inject({ method: 'HEAD', url: '/api/search?q=martillo' })
    t.equal(response.statusCode, 200)
    t.equal(response.headers['cache-control'], 'private, no-store')
    t.equal(response.body, '')
  })
})

t.test(
  'the most quoted products come first for an empty query and among equal matches',
  async (t) => {
    const service = await testService(t)
    const { db } = service
    await db
      .insertInto('products')
      .values(['A', 'B', 'C'].map((sku) => ({ sku, name: `Tornillo ${sku}` })))
      .execute()
    for (const [number, issued_on, sku] of [
      ['1', '2026-01-01', 'C'],
      ['2', '2026-01-02', 'C'],
      ['3', '2026-01-03', 'B'],
      ['4', '2024-01-03', 'A'],
      ['5', '2024-01-04', 'A'],
      ['6', '2024-01-05', 'A'],
    ] as const) {
      const { id } = await db
        .insertInto('quotes')
        .values({ number, status: 'sent', currency: 'EUR', rate: '1', issued_on })
        .returning('id')
        .executeTakeFirstOrThrow()
      await db
        .insertInto('quote_lines')
        .values({
          quote_id: id,
          position: 1,
          sku,
          description: sku,
          quantity: '1',
          unit_price: '0',
          net: '0',
        })
        .execute()
    }
    const { refreshPopularity } = await import('../../src/indexing/popularity.ts')
    t.equal(
      await refreshPopularity(db),
      2,
      'products quoted more than 12 months before the latest quote do not count',
    )
    await service.sync()
    t.same(skus(await search(service, { q: '' })), ['C', 'B', 'A'])
    t.same(skus(await search(service, { q: 'tornillo' })), ['C', 'B', 'A'])
    const fallback = await testService(t, {
      config: withoutEngine,
      database: service,
      index: false,
    })
    t.same(skus(await search(fallback, { q: '' })), ['C', 'B', 'A'], 'also in PostgreSQL')
    t.equal(await refreshPopularity(db), 0, 'unchanged popularity updates no product')
  },
)

t.test('PostgreSQL answers without the engine and marks the response as degraded', async (t) => {
  const service = await testService(t, { config: withoutEngine })
  await service.db.insertInto('products').values(products).execute()
  const response = await search(service, { q: 'martilo', facets: 'category' })
  t.same(skus(response), ['AB-742-X'])
  t.same(response.total, 1)
  t.same(response.facets, { category: { Herramientas: 1 } })
  t.match(response.meta, { source: 'database', degraded: true })
  t.same(skus(await search(service, { q: 'ab742x' })).sort(), ['AB-742-X', 'AB742X'])
  t.same(skus(await search(service, { q: 'camion' })), ['AB742X'])
  for (const q of ['%', '_', '*', '\\', "' or zqv=zqv --", '%%%'])
    t.same((await search(service, { q })).total, 0, q)
  t.equal((await search(service, { q: '' })).total, 6)
})

t.test(
  'without the engine, a statement that PostgreSQL rejects is an internal error',
  async (t) => {
    const service = await testService(t, { config: withoutEngine })
    await service.db.schema.alterTable('products').renameTo('products_renamed').execute()
    const response = await service.app.inject('/api/search?q=x')
    t.match(response.json(), { status: 500, code: 'internal_error' })
    t.notMatch(response.body, /products/)
  },
)

t.test('a rebuilt index is searched again without a restart', async (t) => {
  const service = await testService(t)
  await service.db.insertInto('products').values(products).execute()
  await service.engine.deleteIndex(service.config.SEARCH_INDEX).waitTask()
  t.equal((await search(service, { q: 'martillo' })).meta.source, 'database')
  await rebuildIndex(service.target)
  const response = await eventually(
    () => search(service, { q: 'martillo' }),
    ({ meta }) => meta.source === 'index',
  )
  t.equal(response.meta.source, 'index')
  t.same(skus(response), ['AB-742-X'])
})
