// Later pages: they continue the same list, and have the same total and facets.
import t from 'tap'
import type { SearchResponse } from '../../src/search/schema.ts'
import { searchProducts } from '../support/database/search-products.ts'
import { eventually } from '../support/eventually.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { startCatalogue } from '../support/service/start-catalogue.ts'
import { type TestService, testService } from '../support/service/test-service.ts'

lengthenTimeouts(t)

t.test('no product is missing or repeated after many SKUs with the same key', async (t) => {
  const { app, db, sync } = await testService(t, { config: { SEARCH_CACHE_MB: 0 } })
  // Digits of other scripts are not in the key, so these SKUs have the key of "Z".
  const toArabic = (n: number) =>
    String(n).replace(/\d/g, (digit) => '٠١٢٣٤٥٦٧٨٩'.charAt(Number(digit)))
  const withSameKey = Array.from({ length: 212 }, (_, n) => `Z-${toArabic(1_000 + n)}`)
  const withWord = Array.from({ length: 200 }, (_, n) => `A-${n}`)
  const skus = [...withSameKey, ...withWord]
  await db
    .insertInto('products')
    .values(skus.map((sku) => ({ sku, name: 'Z' })))
    .execute()
  await sync()
  const readPage = (offset: number) =>
    eventually(
      async () =>
        (await app.inject(`/api/search?q=Z&limit=50&offset=${offset}`)).json<SearchResponse>(),
      ({ meta }) => meta.source === 'index' && !meta.degraded,
    )
  const found: string[] = []
  for (let offset = 0; offset < skus.length; offset += 50) {
    const { hits, total } = await readPage(offset)
    t.equal(total, skus.length)
    found.push(...hits.map(({ sku }) => sku))
  }
  t.same(found.slice(0, withSameKey.length).toSorted(), withSameKey.toSorted())
  t.same(found.toSorted(), skus.toSorted())
})

t.test('names with ñ come first over all pages', async (t) => {
  const { search } = await startCatalogue(t, [
    { sku: 'A', name: 'Pena de cristal' },
    { sku: 'B', name: 'Peña de adorno' },
    { sku: 'C', name: 'Pena de madera blanca' },
    { sku: 'D', name: 'Peña de piedra negra' },
  ])
  const all = (await search('peña', { limit: '50' })).hits.map(({ sku }) => sku)
  t.same(all.slice(0, 2).toSorted(), ['B', 'D'])
  t.equal(all.length, 4)
  const paged = []
  for (let offset = 0; offset < all.length; offset++)
    paged.push((await search('peña', { limit: '1', offset: String(offset) })).hits[0]?.sku)
  t.same(paged, all)
})

t.test('pages of a relaxed query are consistent, and its facets add up to the total', async (t) => {
  const { search } = await startCatalogue(t, [
    { sku: 'T-1', name: 'Taladro percutor', category: 'Taladros' },
    { sku: 'T-2', name: 'Taladro de columna', category: 'Taladros' },
    { sku: 'M-1', name: 'Martillo de bola', category: 'Martillos' },
    { sku: 'M-2', name: 'Martillo carpintero', category: 'Martillos' },
  ])
  const all = await search('taladro martillo qwzxkv', { limit: '50', facets: 'category' })
  t.ok(all.total > 1)
  t.equal(all.total, all.hits.length)
  t.equal(
    Object.values(all.facets?.category ?? {}).reduce((a, b) => a + b, 0),
    all.total,
  )
  const paged = []
  for (let offset = 0; offset < all.total; offset += 2) {
    const page = await search('taladro martillo qwzxkv', { limit: '2', offset: String(offset) })
    t.equal(page.total, all.total)
    paged.push(...page.hits.map(({ sku }) => sku))
  }
  t.same(
    paged,
    all.hits.map(({ sku }) => sku),
  )
  t.same((await search('taladro martillo qwzxkv', { offset: '1000' })).hits, [])
})

t.test('a relaxed list is the same in pages of any size', async (t) => {
  const pairs = ['Celosía corredera', 'Celosía nórdica', 'Corredera nórdica']
  const { search, skus } = await startCatalogue(t, [
    ...pairs.flatMap((name, pair) =>
      Array.from({ length: 20 }, (_, n) => ({ sku: `CE-${pair}-${n}`, name })),
    ),
    { sku: 'CE-3', name: 'Celosía corredera de madera, de un taller nórdico' },
    { sku: 'CE-4', name: 'Molibdeno' },
  ])
  const q = 'celosía corredera nórdica molibdeno'
  const { hits, total } = await search(q, { limit: '50' })
  const list = hits.map(({ sku }) => sku)
  t.ok(total > 20, `total ${total}`)
  t.equal(list.length, Math.min(50, total))
  t.same(await skus(q), list.slice(0, 8))
  for (const offset of [1, 7, 20]) {
    const page = await search(q, { limit: '3', offset: String(offset) })
    t.same(
      page.hits.map(({ sku }) => sku),
      list.slice(offset, offset + 3),
      `from ${offset}`,
    )
    t.equal(page.total, total)
  }
})

t.test(
  'totals are exact up to 1,000, and pages are consistent up to the last offset',
  async (t) => {
    const service: TestService = await testService(t)
    await service.db
      .insertInto('products')
      .values(
        Array.from({ length: 1_060 }, (_, n) => ({
          sku: `R-${n}`,
          name: `Arandela ${n < 999 ? 'zincada' : 'cromada'} ${String(n).padStart(4, '0')}`,
          active: n !== 0,
        })),
      )
      .execute()
    await service.sync()
    const search = async (q: string, offset: number, limit = 50) =>
      await searchProducts(service.app, { q, offset: String(offset), limit: String(limit) })
    t.equal((await search('zincada', 0)).total, 998)
    t.equal((await search('arandela', 0)).total, 1_000)
    const found = new Set<string>()
    for (let offset = 0; offset <= 1_000; offset += 50)
      for (const { sku } of (await search('arandela', offset)).hits) found.add(sku)
    t.equal(found.size, 1_050)
    t.notOk(found.has('R-0'))
  },
)
