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

t.test('relevance', async (t) => {
  const { search } = await startCatalogue(
    t,
    names.map((name, n) => ({ sku: `REF-${String.fromCharCode(65 + n)}`, name })),
  )
  const found = async (q: string) => (await search(q)).hits.map(({ name }) => name)
  const first = async (q: string) => (await found(q))[0]

  t.test('two words of different products find both products', async (t) => {
    const hits = await found('columna carpintero')
    t.ok(
      hits.includes('Taladro de columna 500 vatios') &&
        hits.includes('Martillo carpintero mango de fresno'),
      hits.join(),
    )
  })

  t.test(
    'a word that no product contains does not prevent matches of the other words',
    async (t) => {
      t.equal(await first('qwzxkv taladro percutor'), 'Taladro percutor 18 V')
      t.equal(await first('manual for taladro columna 425-1649'), 'Taladro de columna 500 vatios')
      t.ok((await found('taladro martillo qwzxkv')).length > 0)
      t.same(await found('qwzxkv zzzyyy'), [], 'finds nothing if no product contains any word')
    },
  )

  t.test('more words narrow the result', async (t) => {
    t.equal(await first('martillo carpintero'), 'Martillo carpintero mango de fresno')
    const { total } = await search('martillo de carpintero')
    t.ok(total > 0 && total <= (await search('martillo')).total)
  })

  t.test('finds sizes in any spelling', async (t) => {
    for (const q of [
      'taladro 18v',
      'taladro 18 v',
      'taladro 18 volt',
      'taladro 18-volt',
      'taladro 18 voltios',
      '18V taladro',
    ])
      t.equal(await first(q), 'Taladro percutor 18 V', q)
    for (const q of ['500w taladro', 'taladro 500 w', 'taladro 500 watts'])
      t.equal(await first(q), 'Taladro de columna 500 vatios', q)
    for (const q of ['2x4', '2 x 4', '2x4x8', '2 x 4 x 8', '2 in x 4 in x 8 ft', '2X4 stud', '2×4'])
      t.equal(await first(q), '2 in. x 4 in. x 8 ft. Premium stud', q)
    for (const q of ['tubo 1/2 in', 'tubo 1/2 inch', 'tubo 1/2"', 'tubo 1/2 pulgadas'])
      t.equal(await first(q), 'Tubo de cobre 1/2 pulgada', q)
  })

  t.test('finds plurals and trade synonyms', async (t) => {
    t.equal(await first('motor electrico'), 'Motores eléctricos trifásicos')
    t.equal(await first('luces emergencia'), 'Luz de emergencia')
    t.equal(await first('desarmador'), 'Destornillador plano')
    t.equal(await first('screwdriver'), 'Destornillador plano')
    t.equal(await first('llave ajustable'), 'Llave inglesa cromada')
  })

  t.test(
    'finds the translation of a word that no product contains, singular or plural',
    async (t) => {
      t.equal(await first('syringe'), 'Jeringas desechables')
      t.equal(await first('disposable syringes'), 'Jeringas desechables')
      t.equal(await first('sillas oficina'), 'Office chairs with wheels')
      t.equal(await first('silla de oficina'), 'Office chairs with wheels')
      t.equal(await first('music notebooks'), 'Cuadernos de música')
      t.equal(await first('oficina'), 'Office chairs with wheels')
    },
  )

  t.test('names with ñ come first if ñ was typed, and both are found without ñ', async (t) => {
    t.same((await found('peña')).slice(0, 2), ['Peña de adorno', 'Pena de cristal'])
    t.same((await found('cañ')).slice(0, 2), ['Caña de pescar', 'Cana blanca'])
    t.same((await found('cana')).slice(0, 2).sort(), ['Cana blanca', 'Caña de pescar'])
    for (const q of ['ñ', 'Ñ', 'n\u0303', 'ña', 'de ñ'])
      t.same((await found(q)).slice(0, 2), ['Ñandú de peluche', 'Nandu de nieve'], q)
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

t.test('of equal matches the shorter name comes first', async (t) => {
  const { skus } = await startCatalogue(t, [
    { sku: 'Z-1', name: 'Zapapico de mano con mango largo' },
    { sku: 'Z-2', name: 'Zapapico pequeño' },
  ])
  t.same(await skus('zapapico'), ['Z-2', 'Z-1'])
})

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
