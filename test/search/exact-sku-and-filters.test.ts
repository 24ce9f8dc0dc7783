// What holds in the search engine and in PostgreSQL: the exact SKU is the first hit, in any script,
// and filters mean the same.
import t from 'tap'
import { testBothSources } from '../support/service/both-sources.ts'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'

lengthenTimeouts(t)

/** Groups of SKUs that are easily confused. */
const similarSkus = [
  ['X_Y', 'X-Y', 'XY', 'x.y', 'X Y'],
  ['CHAIR', 'chair', 'Chair', 'c-h-a-i-r'],
  ['ÑU-7', 'NU-7', 'U-7', 'XU-7', 'ñu7'],
  ['日本-1', '1', '-1', '日本', '中国-1'],
  ['*', '?', '%', '_', '"', '\\', '--'],
  ['Ω-A', 'ω_a', 'Ä-1', 'A-1', 'a1'],
  ['de', 'DE', 'D-E'],
  ['²-1', '٣-1', '½-1', 'ที่-1', 'कि-1', 'Ⓐ-1', 'ΑΣ-1'],
  ['①', '①-1'],
  ['martillo de bola', 'MARTILLO-DE-BOLA'],
]

const products = [
  ...similarSkus.flat().map((sku) => ({ sku, name: 'Silla de oficina', category: 'Muebles' })),
  // Names that match the SKUs as words.
  { sku: 'N-1', name: 'chair x y de bola, martillo', category: 'Muebles' },
  { sku: 'N-2', name: 'Martillo de bola', category: 'Herramientas', brand: 'Ácana' },
  { sku: 'N-3', name: 'Martillo pequeño', category: 'HERRAMIENTAS', brand: 'ÁCANA' },
  { sku: 'N-4', name: 'Martillo grande', category: 'herramientas', brand: 'Acana' },
]

/** More SKUs with one key than the service orders: digits of other scripts are not in the key. */
const arabicSkus = Array.from({ length: 210 }, (_, n) =>
  `Z-${1_000 + n}`.replace(/\d/g, (digit) => '٠١٢٣٤٥٦٧٨٩'.charAt(Number(digit))),
)
const emojiSkus = ['Z-😀', 'Z-😁']

const many = [...arabicSkus, ...emojiSkus].map((sku) => ({ sku, name: `Nº ${sku}` }))

testBothSources(t, [...products, ...many], async (t, { service, search, skus: findSkus }) => {
  const skus = async ({ q = '', ...filters }: Record<string, string>) =>
    (await search({ q, ...filters })).hits.map(({ sku }) => sku)

  t.test('the exact SKU is the first hit', async (t) => {
    for (const sku of similarSkus.flat()) {
      const [hit] = (await search({ q: sku })).hits
      t.equal(hit?.sku, sku)
      t.same(hit?.highlights.sku, [[0, sku.length]], `${sku} is highlighted`)
    }
    // With Ñ in its other Unicode form.
    t.equal((await skus({ q: 'N\u0303U-7' }))[0], 'ÑU-7')
  })

  t.test('the exact SKU is the first of many that differ in digits or signs', async (t) => {
    for (const sku of [...emojiSkus, ...arabicSkus.slice(0, 2), ...arabicSkus.slice(-3)]) {
      t.equal((await skus({ q: sku }))[0], sku)
      t.equal((await skus({ q: sku.toLowerCase() }))[0], sku)
    }
  })

  t.test('pinned products may have SKUs that differ only in digits or signs', async (t) => {
    const pinned = ['Z-😁', 'N-1', ...arabicSkus.slice(-2).toReversed()]
    await service.db.insertInto('search_pins').values({ query: 'pequeño', skus: pinned }).execute()
    t.same(await findSkus('pequeño', (found) => found.length > 1), [...pinned, 'N-3'])
    await service.db
      .insertInto('search_pins')
      .values({ query: 'silla', skus: ['1'] })
      .execute()
    t.equal(
      (await findSkus('silla', ([first]) => first === '1'))[0],
      '1',
      'not ①, which the engine does not distinguish',
    )
    await service.db.deleteFrom('search_pins').execute()
  })

  t.test('a query of signs finds the SKU of these signs and nothing else', async (t) => {
    t.same(await skus({ q: '*' }), ['*'])
    t.same(await skus({ q: '?' }), ['?'])
    t.same(await skus({ q: '¿¡' }), [])
  })

  t.test('a filter ignores case and surrounding blanks, and accents count', async (t) => {
    const all = ['N-2', 'N-3', 'N-4']
    for (const category of ['Herramientas', 'HERRAMIENTAS', ' herramientas '])
      t.same((await skus({ q: 'martillo', category })).sort(), all, category)
    t.same(await skus({ q: 'martillo', category: 'Herramienta' }), [])
    t.same((await skus({ q: 'martillo', brand: 'ácana' })).sort(), ['N-2', 'N-3'])
    t.same(await skus({ q: 'martillo', brand: 'acana' }), ['N-4'])
  })

  t.test('a facet counts spellings together if a filter treats them as equal', async (t) => {
    const { facets = {} } = await search({ q: 'martillo', facets: 'category,brand' })
    t.same(Object.values(facets.category ?? {}), [3, 3])
    t.same(Object.values(facets.brand ?? {}).toSorted(), [1, 2])
    const value = Object.keys(facets.category ?? {}).find((name) => /^herr/i.test(name)) ?? ''
    t.equal((await skus({ q: 'martillo', category: value })).length, 3, 'a facet is a filter')
  })
})
