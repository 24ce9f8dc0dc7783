// Parts of SKUs and beginnings of HS codes: what they find, and that they allow no typo.
import t from 'tap'
import type { Hit } from '../../src/search/schema.ts'
import { searchProducts } from '../support/database/search-products.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { searchIndex } from '../support/service/start-catalogue.ts'
import { type TestService, testService, withoutEngine } from '../support/service/test-service.ts'

lengthenTimeouts(t)

t.test('a code with separators is counted, filtered and paged exactly', async (t) => {
  const service: TestService = await testService(t)
  const group = (make: (n: number) => { sku: string; name: string }, count: number) =>
    Array.from({ length: count }, (_, n) => ({
      ...make(n),
      category: `C${n % 3}`,
      brand: n % 2 === 0 ? 'Ácana' : 'Bellota',
    }))
  const products = [
    ...group((n) => ({ sku: `K229${n}X`, name: 'En una pieza' }), 45),
    ...group(() => ({ sku: 'AK229-M', name: 'En medio' }), 1),
    ...group((n) => ({ sku: `22.9${n}`, name: 'Empieza' }), 25),
    ...group((n) => ({ sku: `Ü-22-9${n}`, name: 'En las mismas piezas' }), 40),
    ...group((n) => ({ sku: `P-${n}`, name: `Perfil de 22 9${n}` }), 30),
    ...group((n) => ({ sku: `5${'-'.repeat(n)}5`, name: 'Un código con muchas rayas' }), 23),
  ]
  await service.db.insertInto('products').values(products).execute()
  await service.db
    .insertInto('products')
    .values({ sku: 'M-1', name: 'Martillo de bola', hs_code: '820520' })
    .execute()
  await service.sync()
  const search = (parameters: Record<string, string>) => searchIndex(t, service, parameters)
  // Two numbers may also be words of a name. A code and a fraction are not.
  const isPart = ({ sku }: { sku: string }) => sku.replace(/\W/g, '').includes('229')
  for (const [q, filter, mayBeWords] of [
    ['22-9', {}, false],
    ['22 9', { category: 'C1' }, true],
    ['22/9', { category: 'C2', brand: 'Bellota' }, false],
  ] as const) {
    const all = products.filter(
      (product) => isPart(product) || (mayBeWords && product.name.includes('22 9')),
    )
    const expected = all.filter((product) =>
      Object.entries(filter).every(([name, value]) => product[name as 'category'] === value),
    )
    const { total, facets } = await search({ q, ...filter, facets: 'category' })
    const found: Hit[] = []
    for (let offset = 0; offset <= total; offset += 17)
      found.push(...(await search({ q, ...filter, limit: '17', offset: String(offset) })).hits)
    t.equal(found.length, total, q)
    t.same(found.map(({ sku }) => sku).sort(), expected.map(({ sku }) => sku).sort(), q)
    for (const category of new Set(expected.map(({ category }) => category)))
      t.equal(
        facets?.category?.[category],
        expected.filter((product) => product.category === category).length,
        `${q} ${category}`,
      )
  }
  const codes = (await search({ q: 'k22-9', limit: '50' })).hits.map(({ sku }) => sku)
  t.equal(codes.length, 46)
  t.equal(codes.at(-1), 'AK229-M', 'codes that begin with the query come first')
  const { hits: umlautHits } = await search({ q: 'u2.29', limit: '50' })
  t.same(
    umlautHits.map(({ sku }) => sku).sort(),
    products
      .map(({ sku }) => sku)
      .filter((sku) => sku.startsWith('Ü'))
      .sort(),
    'accents in a SKU are ignored',
  )
  const spellings = new Set<string>()
  for (let offset = 0; offset < 30; offset += 5)
    for (const { sku } of (await search({ q: '5-5', limit: '5', offset: String(offset) })).hits)
      if (sku.startsWith('5')) spellings.add(sku)
  t.equal(spellings.size, 23, 'all spellings of one code are found, also beyond the ordered ones')

  for (const q of ['820520', '8205.20', '8205.2', '82-05'])
    t.match(
      await search({ q }),
      {
        total: 1,
        hits: [{ sku: 'M-1', highlights: { hsCode: [[0, q.replace(/\D/g, '').length]] } }],
      },
      q,
    )
  for (const q of ['K229-99X', 'P-77-9', '99999999-9', '8205.20.9'])
    t.match(
      await search({ q }),
      { total: 0, hits: [] },
      `${q}: finds nothing, as without separators`,
    )
})

t.test('a letter that only the service knows leaves no wildcard in a code', async (t) => {
  const { app, db } = await testService(t, { config: withoutEngine })
  // A letter of Unicode 17. For an older PostgreSQL it is a sign, so both texts are their own keys.
  const letter = '\u{16ebb}'
  await db
    .insertInto('products')
    .values({ sku: `#${letter}${letter}`, name: 'Martillo' })
    .execute()
  t.match(await searchProducts(app, { q: `%${letter}` }), {
    total: 0,
    meta: { source: 'database' },
  })
})
