// GET /api/search answered by a real search engine, and by PostgreSQL if the engine is unavailable.
import t from 'tap'
import { refreshPopularity } from '../../src/indexing/popularity.ts'
import type { SearchResponse } from '../../src/search/schema.ts'
import { rebuildIndex } from '../support/database/leased-target.ts'
import { searchProducts } from '../support/database/search-products.ts'
import { eventually } from '../support/eventually.ts'
import { testBothSources } from '../support/service/both-sources.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { testService, withoutEngine } from '../support/service/test-service.ts'

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
  { sku: 'AB742X', name: 'Camión de juguete', price: '1500', currency: 'JPY' },
  { sku: 'ZZ-1', name: 'Taladro percutor 18 V', price: '89.9999', currency: 'EUR' },
  { sku: 'ZZ-2', name: 'Peña y ñandú de cerámica 😀 azul', category: 'Decoración' },
  { sku: 'ZZ-3', name: 'Agenda 2024', category: 'Papelería' },
  { sku: 'ZZ-4', name: 'Agenda 2025', category: 'Papelería' },
  { sku: 'ZZ-9', name: 'Martillo retirado', category: 'Herramientas', active: false },
]

const skus = ({ hits }: SearchResponse) => hits.map(({ sku }) => sku)

const found: [q: string, skus: string[]][] = [
  ['AB742X', ['AB742X', 'AB-742-X']],
  ['AB-742-X', ['AB-742-X', 'AB742X']],
  ['820520', ['AB-742-X']],
  ['2024', ['ZZ-3']],
  ['AB743X', []],
  ['camion', ['AB742X']],
  ['tálàdro', ['ZZ-1']],
  ['18v', ['ZZ-1']],
  ['taladro 18v', ['ZZ-1']],
  ['"martillo', ['AB-742-X']],
  ['-martillo', ['AB-742-X']],
]

testBothSources(t, products, async (t, { source, service, search }) => {
  const { app, db } = service
  t.test('finds a product despite a typo and returns every documented field', async (t) => {
    // Null until the process has read the state of the index for the first time.
    const response = await search({ q: ' martilo ' }, ({ meta }) => meta.indexedAt !== null)
    t.type(response.meta.indexedAt, 'string')
    const { id } = await db
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
        source,
        degraded: source === 'database',
        indexedAt: response.meta.indexedAt,
        corrected: [{ from: 'martilo', to: 'martillo' }],
      },
    })
  })

  t.test('finds words and codes as they are typed', async (t) => {
    for (const [q, expected] of found) t.same(skus(await search({ q })), expected, q)
    for (const q of ['ab-742', 'ab742', 'ab 742 x', 'AB.742', '742-x', '742x'])
      t.same(skus(await search({ q })).sort(), ['AB-742-X', 'AB742X'], q)
  })

  t.test('returns prices with the decimal places of their currency', async (t) => {
    for (const [q, price] of [
      ['camion', { amount: '1500', currency: 'JPY' }],
      ['taladro', { amount: '89.9999', currency: 'EUR' }],
      ['peña', null],
    ] as const)
      t.same((await search({ q })).hits[0]?.price, price)
  })

  t.test('lists all products for an empty query, and pages are consistent', async (t) => {
    for (const q of ['', 'AB742X']) {
      const all = await search({ q, limit: '50' })
      t.equal(all.total, q === '' ? 6 : 2)
      if (q === '') for (const { highlights } of all.hits) t.same(highlights, {})
      const paged: string[] = []
      for (let offset = 0; offset < all.total + 2; offset += 2)
        paged.push(...skus(await search({ q, limit: '2', offset: String(offset) })))
      t.same(paged, skus(all))
      const odd = skus(await search({ q, limit: '3', offset: '1' }))
      t.same(odd, skus(all).slice(1, 4))
    }
  })

  t.test('answers HEAD, and forbids caches to store the response', async (t) => {
    const response = await app.inject({ method: 'HEAD', url: '/api/search?q=martillo' })
    t.equal(response.statusCode, 200)
    t.equal(response.headers['cache-control'], 'private, no-store')
    t.equal(response.body, '')
  })
})

t.test('the most quoted products come first among equal matches', async (t) => {
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
    const line = { quote_id: id, position: 1, quantity: '1', unit_price: '0', net: '0' }
    await db
      .insertInto('quote_lines')
      .values({ ...line, sku, description: sku })
      .execute()
  }
  t.equal(await refreshPopularity(db), 2, 'only the 12 months before the latest quote count')
  await service.sync()
  const fallback = await testService(t, { config: withoutEngine, database: service, index: false })
  const expected = ['C', 'B', 'A']
  t.same(skus(await searchProducts(service.app, { q: '' })), expected)
  t.same(skus(await searchProducts(service.app, { q: 'tornillo' })), expected)
  t.same(skus(await searchProducts(fallback.app, { q: '' })), expected, 'also in PostgreSQL')
  t.equal(await refreshPopularity(db), 0, 'unchanged popularity updates no product')
})

t.test('a statement that PostgreSQL rejects is an internal error', async (t) => {
  const service = await testService(t, { config: withoutEngine })
  await service.db.schema.alterTable('products').renameTo('products_renamed').execute()
  const response = await service.app.inject('/api/search?q=x')
  t.match(response.json(), { status: 500, code: 'internal_error' })
  t.notMatch(response.body, /products/)
})

t.test('a rebuilt index is searched again without a restart', async (t) => {
  const service = await testService(t)
  await service.db.insertInto('products').values(products).execute()
  await service.engine.deleteIndex(service.config.SEARCH_INDEX).waitTask()
  const search = () => searchProducts(service.app, { q: 'martillo' })
  t.equal((await search()).meta.source, 'database')
  await rebuildIndex(service.target)
  t.same(skus(await eventually(search, ({ meta }) => meta.source === 'index')), ['AB-742-X'])
})
