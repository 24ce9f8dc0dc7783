// The relevance of hits: relaxed queries, sizes, plurals, ñ, synonyms, translations, codes,
// highlights and pages.
import t, { type Test } from 'tap'
import type { Hit, SearchResponse } from '../../src/search/schema.ts'
import { searchProducts } from '../support/database/search-products.ts'
import { eventually } from '../support/eventually.ts'
import { lengthenSearchTimeouts } from '../support/service/longer-timeouts.ts'
import { type TestService, testService, withoutEngine } from '../support/service/test-service.ts'

lengthenSearchTimeouts(t)

type Ranges = [start: number, length: number][]

const names: Record<string, string> = {
  T1: 'Taladro percutor 18 V',
  T2: 'Taladro de columna 500 vatios',
  M1: 'Martillo de bola 300 g',
  M2: 'Martillo carpintero mango de fresno',
  D1: 'Destornillador plano',
  L1: 'Llave inglesa cromada',
  W1: '2 in. x 4 in. x 8 ft. Premium stud',
  W2: 'Tubo de cobre 1/2 pulgada',
  P1: 'Pena de cristal',
  P2: 'Peña de adorno',
  C1: 'Cana blanca',
  C2: 'Caña de pescar',
  N1: 'Nandu de nieve',
  N2: 'Ñandú de peluche',
  E1: 'Motores eléctricos trifásicos',
  E2: 'Luz de emergencia',
  X1: 'Cinta roja cinta azul cinta verde',
  F1: 'Adaptador M10X50 largo',
  S1: 'Jeringas desechables',
  S2: 'Office chairs with wheels',
  S3: 'Cuadernos de música',
  'QW-742-X': 'Uno',
  QW742X: 'Dos',
}

async function searchIndex(
  t: Test,
  { app }: TestService,
  parameters: Record<string, string>,
): Promise<SearchResponse> {
  // On a busy machine the engine may be late. Then the response is degraded.
  // Other tests cover that.
  const response = await eventually(
    () => searchProducts(app, parameters),
    ({ meta }) => meta.source === 'index' && !meta.degraded,
  )
  t.match(response.meta, { source: 'index', degraded: false }, String(parameters.q))
  return response
}

/** Starts a service with these products only. Returns functions that search in its index. */
async function startCatalogue(
  t: Test,
  products: { sku: string; name: string; category?: string | null }[],
) {
  const service = await testService(t)
  await service.db.insertInto('products').values(products).execute()
  await service.sync()
  const search = (q: string, more: Record<string, string> = {}) =>
    searchIndex(t, service, { q, ...more })
  const skus = async (q: string) => (await search(q)).hits.map(({ sku }) => sku)
  const first = async (q: string) => (await skus(q))[0]
  return { search, skus, first }
}

t.test('relevance', async (t) => {
  const { search, skus, first } = await startCatalogue(
    t,
    Object.entries(names).map(([sku, name]) => ({ sku, name, category: sku[0] ?? null })),
  )

  t.test('two words of different products find both products', async (t) => {
    const found = await skus('columna carpintero')
    t.ok(found.includes('T2') && found.includes('M2'), found.join())
  })

  t.test(
    'a word that no product contains does not prevent matches of the other words',
    async (t) => {
      t.equal(await first('qwzxkv taladro percutor'), 'T1')
      t.equal(await first('manual for taladro columna 425-1649'), 'T2')
      t.ok((await skus('taladro martillo qwzxkv')).length > 0)
      t.same(await skus('qwzxkv zzzyyy'), [], 'finds nothing if no product contains any word')
    },
  )

  t.test('more words narrow the result', async (t) => {
    t.same((await skus('martillo carpintero'))[0], 'M2')
    const { total } = await search('martillo de carpintero')
    t.ok(total > 0 && total <= (await search('martillo')).total)
  })

  t.test(
    'pages of a relaxed query are consistent, and its facets add up to the total',
    async (t) => {
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
    },
  )

  t.test('finds sizes in any spelling', async (t) => {
    for (const q of [
      'taladro 18v',
      'taladro 18 v',
      'taladro 18 volt',
      'taladro 18-volt',
      'taladro 18 voltios',
      '18V taladro',
    ])
      t.equal(await first(q), 'T1', q)
    for (const q of ['500w taladro', 'taladro 500 w', 'taladro 500 watts'])
      t.equal(await first(q), 'T2', q)
    for (const q of ['2x4', '2 x 4', '2x4x8', '2 x 4 x 8', '2 in x 4 in x 8 ft', '2X4 stud', '2×4'])
      t.equal(await first(q), 'W1', q)
    for (const q of ['tubo 1/2 in', 'tubo 1/2 inch', 'tubo 1/2"', 'tubo 1/2 pulgadas'])
      t.equal(await first(q), 'W2', q)
  })

  t.test('finds plurals and trade synonyms', async (t) => {
    t.equal(await first('motor electrico'), 'E1')
    t.equal(await first('luces emergencia'), 'E2')
    t.equal(await first('desarmador'), 'D1')
    t.equal(await first('screwdriver'), 'D1')
    t.equal(await first('llave ajustable'), 'L1')
  })

  t.test(
    'finds the translation of a word that no product contains, singular or plural',
    async (t) => {
      t.equal(await first('syringe'), 'S1')
      t.equal(await first('disposable syringes'), 'S1')
      t.equal(await first('sillas oficina'), 'S2')
      t.equal(await first('silla de oficina'), 'S2')
      t.equal(await first('music notebooks'), 'S3')
      t.equal(await first('oficina'), 'S2')
    },
  )

  t.test('names with ñ come first if ñ was typed, and both are found without ñ', async (t) => {
    t.same((await skus('peña')).slice(0, 2), ['P2', 'P1'])
    t.same((await skus('cañ')).slice(0, 2), ['C2', 'C1'])
    t.same((await skus('cana')).slice(0, 2).sort(), ['C1', 'C2'])
    for (const q of ['ñ', 'Ñ', 'n\u0303', 'ña', 'de ñ'])
      t.same((await skus(q)).slice(0, 2), ['N2', 'N1'], q)
    const all = (await search('peña', { limit: '50' })).hits.map(({ sku }) => sku)
    t.ok(all.length > 1)
    const paged = []
    for (let offset = 0; offset < all.length; offset++)
      paged.push((await search('peña', { limit: '1', offset: String(offset) })).hits[0]?.sku)
    t.same(paged, all)
  })

  t.test('finds part of a code with any separators', async (t) => {
    for (const q of ['qw-742', 'qw742', 'qw 742', 'QW.742', '742-x', '742x'])
      t.same((await skus(q)).slice(0, 2).sort(), ['QW-742-X', 'QW742X'], q)
    t.same(await skus('QW743X'), [])
  })

  t.test(
    'highlights several matches, typos, prefixes and codes, sorted and inside the value',
    async (t) => {
      const highlighted = async (q: string, attribute: 'name' | 'sku' = 'name') => {
        const [hit] = (await search(q)).hits
        const ranges = hit?.highlights[attribute] as Ranges | undefined
        return ranges?.map(([start, length]) => hit?.[attribute].slice(start, start + length))
      }
      t.same(await highlighted('cinta'), ['Cinta', 'cinta', 'cinta'])
      t.same(await highlighted('cint'), ['Cint', 'cint', 'cint'])
      t.same(await highlighted('martilo carpintero'), ['Martillo', 'carpintero'])
      t.same(await highlighted('taladro 18 voltios'), ['Taladro', '18 V'])
      t.same(
        await highlighted('taladro 18v'),
        ['Taladro', '18 V'],
        'even if the unit could be the beginning of a word',
      )
      t.ok(['742-X', '742X'].includes((await highlighted('742x', 'sku'))?.[0] ?? ''))
      t.same(await highlighted('qw-742-x', 'sku'), ['QW-742-X'])
      for (const q of ['taladro', 'peña', 'a', '2x4', 'qw-742', 'trifasicos']) {
        const { hits } = await search(q)
        t.ok(hits.length > 0, q)
        for (const hit of hits) {
          for (const [attribute, ranges] of Object.entries(hit.highlights)) {
            let end = 0
            for (const [start, length] of ranges as Ranges) {
              t.ok(start >= end && length > 0, `${q} ${attribute}`)
              end = start + length
            }
            t.ok(end <= String(hit[attribute as 'name']).length, `${q} ${attribute}`)
          }
        }
      }
    },
  )
})

t.test('products with more of the words come before those with one rarer word', async (t) => {
  const { skus } = await startCatalogue(t, [
    ...Array.from({ length: 8 }, (_, n) => ({ sku: `J-${n}`, name: `Jumbo bag ${n} red` })),
    { sku: 'J-8', name: 'Storage tin' },
    { sku: 'J-9', name: 'Storage jar with a lid and much else' },
  ])
  const found = await skus('jumbo strage bag')
  t.same(
    found.slice(0, 8).toSorted(),
    Array.from({ length: 8 }, (_, n) => `J-${n}`),
  )
})

t.test('a shortened word anywhere in the query counts as the whole word', async (t) => {
  const { first } = await startCatalogue(t, [
    ...Array.from({ length: 60 }, (_, n) => ({ sku: `EP-${n}`, name: `Plegable gris ${n}` })),
    { sku: 'EMB', name: 'Plataforma de un embarcadero plegable, con barandilla' },
  ])
  t.equal(await first('embarcad plegable qwzxkv'), 'EMB')
  t.equal(await first('plegable embarcad qwzxkv'), 'EMB')
})

t.test(
  'products with three of four words come first, though many have each pair of them',
  async (t) => {
    const pairs = ['Biombo plegable', 'Biombo japonés', 'Plegable japonés']
    const { first } = await startCatalogue(t, [
      ...pairs.flatMap((name, pair) =>
        Array.from({ length: 20 }, (_, n) => ({ sku: `BI-${pair}-${n}`, name })),
      ),
      {
        sku: 'BI-3',
        name: 'Biombo de madera lacada, plegable, de un taller de estilo japonés',
      },
      { sku: 'BI-4', name: 'Wolframio' },
    ])
    for (const q of ['biombo plegable japonés wolframio', 'wolframio biombo plegable japonés'])
      t.equal(await first(q), 'BI-3', q)
  },
)

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

t.test('of equal matches the shorter name comes first', async (t) => {
  const { skus } = await startCatalogue(t, [
    { sku: 'Z-1', name: 'Zapapico de mano con mango largo' },
    { sku: 'Z-2', name: 'Zapapico pequeño' },
  ])
  t.same(await skus('zapapico'), ['Z-2', 'Z-1'])
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

t.test('a symbol beside a word or a number does not hide it', async (t) => {
  const symbols = [...'<>=|~^$£€¥¦©®™°⌀∅←→★☆✓✔●■']
  const { skus } = await startCatalogue(t, [
    ...symbols.map((symbol, n) => ({ sku: `A${n}`, name: `Pieza ${symbol}${7_000 + n}${symbol}` })),
    { sku: 'B', name: '<b>Sierra</b> <Uña>' },
  ])
  for (const [n, symbol] of symbols.entries())
    t.same(await skus(String(7_000 + n)), [`A${n}`], symbol)
  for (const q of ['sierra', 'uña', 'sierra uña']) t.same(await skus(q), ['B'], q)
})

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
  const all = products.filter(
    ({ sku, name }) => sku.replace(/\W/g, '').includes('229') || name.includes('22 9'),
  )
  for (const [q, filter] of [
    ['22-9', {}],
    ['22 9', { category: 'C1' }],
    ['22/9', { category: 'C2', brand: 'Bellota' }],
  ] as const) {
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
  t.match(
    (await search({ q: '22-9' })).hits[0]?.sku,
    /^22\.9/,
    'codes that begin with the query come first',
  )
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

t.test('PostgreSQL highlights words, prefixes, codes and sizes in UTF-16 code units', async (t) => {
  const service = await testService(t, { config: withoutEngine })
  await service.db
    .insertInto('products')
    .values([
      {
        sku: 'AB-742-X',
        name: '😀 Camión de bomberos, camio\u0301n rojo',
        category: 'Camiones',
        brand: 'Ñandú',
      },
      { sku: 'T-1', name: 'Taladro percutor 18 V', hs_code: '846721' },
    ])
    .execute()
  const highlighted = async (q: string) => {
    const { hits, meta } = await searchProducts(service.app, { q })
    t.equal(meta.source, 'database')
    const [hit] = hits
    return Object.fromEntries(
      Object.entries(hit?.highlights ?? {}).map(([attribute, ranges]) => [
        attribute,
        (ranges as Ranges).map(([start, length]) =>
          String(hit?.[attribute as 'name']).slice(start, start + length),
        ),
      ]),
    )
  }
  t.same(await highlighted('camion'), { name: ['Camión', 'camio\u0301n'], category: ['Camion'] })
  t.same(await highlighted('CAMIÓ bomb'), {
    name: ['Camió', 'bomb', 'camio\u0301'],
    category: ['Camio'],
  })
  t.same(await highlighted('nandu'), { brand: ['Ñandú'] })
  t.same(await highlighted('742x'), { sku: ['742-X'] })
  t.same(await highlighted('taladro 18 v'), { name: ['Taladro', '18 V'] })
  t.same(await highlighted('tala'), { name: ['Tala'] })
  t.same(await highlighted('8467.2'), { hsCode: ['84672'] })
  t.same(
    (await service.app.inject('/api/search?q=AB-742-Z')).json<SearchResponse>().hits,
    [],
    'a similar code does not match',
  )
  t.same(await highlighted(''), {})
})
