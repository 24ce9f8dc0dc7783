// The relevance of hits: relaxed queries, sizes, plurals, ñ, synonyms, translations and symbols.
import t from 'tap'
import { lengthenTimeouts } from '../support/service/longer-timeouts.ts'
import { startCatalogue } from '../support/service/start-catalogue.ts'

lengthenTimeouts(t)

const names = [
  'Taladro percutor 18 V',
  'Taladro de columna 500 vatios',
  'Martillo de bola 300 g',
  'Martillo carpintero mango de fresno',
  'Destornillador plano',
  'Llave inglesa cromada',
  '2 in. x 4 in. x 8 ft. Premium stud',
  'Tubo de cobre 1/2 pulgada',
  'Pena de cristal',
  'Peña de adorno',
  'Cana blanca',
  'Caña de pescar',
  'Nandu de nieve',
  'Ñandú de peluche',
  'Motores eléctricos trifásicos',
  'Luz de emergencia',
  'Adaptador M10X50 largo',
  'Jeringas desechables',
  'Office chairs with wheels',
  'Cuadernos de música',
]

/** A query, and the beginning of the name that comes first. */
const firstNames: Record<string, string[]> = {
  'Taladro percutor': ['taladro 18v', 'taladro 18 v', 'taladro 18 volt', 'taladro 18-volt'],
  'Taladro percutor 18 V': ['taladro 18 voltios', '18V taladro', 'qwzxkv taladro percutor'],
  'Taladro de columna': ['500w taladro', 'taladro 500 w', 'taladro 500 watts'],
  'Taladro de columna 500': ['manual for taladro columna 425-1649'],
  'Martillo carpintero': ['martillo carpintero', 'martillo de carpintero'],
  '2 in. x 4 in. x 8': ['2x4', '2 x 4', '2x4x8', '2 x 4 x 8', '2 in x 4 in x 8 ft', '2×4'],
  '2 in. x 4 in. x 8 ft.': ['2X4 stud'],
  'Tubo de cobre': ['tubo 1/2 in', 'tubo 1/2 inch', 'tubo 1/2"', 'tubo 1/2 pulgadas'],
  'Motores eléctricos': ['motor electrico'],
  'Luz de emergencia': ['luces emergencia'],
  'Destornillador plano': ['desarmador', 'screwdriver'],
  'Llave inglesa': ['llave ajustable'],
  // Translations of words that no product has, singular or plural.
  Jeringas: ['syringe', 'disposable syringes'],
  'Office chairs': ['sillas oficina', 'silla de oficina', 'oficina'],
  Cuadernos: ['music notebooks'],
  // Names with the typed ñ.
  Peña: ['peña'],
  Caña: ['cañ'],
  Ñandú: ['ñ', 'Ñ', 'n\u0303', 'ña', 'de ñ'],
}

t.test('relevance', async (t) => {
  const { search } = await startCatalogue(
    t,
    names.map((name, n) => ({ sku: `REF-${String.fromCharCode(65 + n)}`, name })),
  )
  const found = async (q: string) => (await search(q)).hits.map(({ name }) => name)

  t.test('the product that is meant comes first', async (t) => {
    for (const [beginning, queries] of Object.entries(firstNames))
      for (const q of queries) {
        const [first = ''] = await found(q)
        t.ok(first.startsWith(beginning), `${q}: ${first}`)
      }
  })

  t.test('names with and without ñ, words of different products, and no word at all', async (t) => {
    for (const [q, expected] of [
      ['peña', ['Pena de cristal', 'Peña de adorno']],
      ['cana', ['Cana blanca', 'Caña de pescar']],
      ['ñand', ['Nandu de nieve', 'Ñandú de peluche']],
    ] as const)
      t.same((await found(q)).slice(0, 2).sort(), expected, q)
    const both = await found('columna carpintero')
    for (const name of ['Taladro de columna 500 vatios', 'Martillo carpintero mango de fresno'])
      t.ok(both.includes(name), name)
    t.ok((await found('taladro martillo qwzxkv')).length > 0)
    t.same(await found('qwzxkv zzzyyy'), [])
    const { total } = await search('martillo de carpintero')
    t.ok(total <= (await search('martillo')).total, 'more words narrow the result')
  })
})

t.test('products with more of the words come before those with one rarer word', async (t) => {
  const { skus } = await startCatalogue(t, [
    ...Array.from({ length: 8 }, (_, n) => ({ sku: `J-${n}`, name: `Jumbo bag ${n} red` })),
    { sku: 'TIN', name: 'Storage tin' },
    { sku: 'JAR', name: 'Storage jar with a lid and much else' },
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
