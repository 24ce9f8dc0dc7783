// How well the text of a product matches the words of a query.
import t from 'tap'
import { countTypos, QueryWordMatcher } from '../../../src/search/relaxation/query-word-matcher.ts'
import type { EngineHit } from '../../../src/search-engine/search-client.ts'
import { exampleHit } from '../../support/stub-engine.ts'

const product = (values: Partial<EngineHit>) => ({ ...exampleHit, name: '', ...values })
const createMatcher = (
  words: string[],
  {
    lastWord = '',
    synonyms = [] as string[],
    translations = [] as string[],
    unknownWords = [''],
  } = {},
) =>
  new QueryWordMatcher(
    words.map((text, position) => ({
      text,
      position,
      isLast: text === lastWord,
      productCount: unknownWords.includes(text) ? 0 : 100,
      synonyms,
      translations,
    })),
  )
const compare = (
  words: string[],
  values: Partial<EngineHit>,
  options?: Parameters<typeof createMatcher>[1],
) => createMatcher(words, options).rateMatches(product(values))

t.test('an equal word counts by its field', async (t) => {
  t.same(compare(['martillo'], { name: 'Martillo de bola' }), [1])
  t.same(compare(['acana'], { brand: 'Ácana' }), [1])
  t.same(compare(['herramientas'], { category: 'Herramientas' }), [0.5])
  t.same(compare(['fresno'], { description: 'Mango de fresno' }), [0.5])
  t.same(compare(['fresno'], { name: 'Fresno', description: 'Mango de fresno' }), [1])
  t.same(compare(['plata'], { name: 'Martillo' }), [0])
})

t.test('singular, plural, sizes, codes, translations and synonyms count as the word', async (t) => {
  t.same(compare(['motores', 'luces'], { name: 'Motor con luz' }), [1, 1])
  t.same(compare(['18v'], { name: 'Taladro 18 V' }), [1])
  t.same(compare(['742'], { sku: 'AB-742-X', name: 'Uno' }), [1])
  t.same(compare(['1/2'], { sku: 'AB-120', name: 'Uno' }), [0], 'two digits are in too many SKUs')
  const syringes = { name: 'Jeringas desechables' }
  t.same(compare(['syringe'], syringes, { translations: ['jeringa'] }), [1])
  t.same(compare(['inyectadora'], syringes, { synonyms: ['jeringa'] }), [1])
})

t.test('a synonym of several words counts as the word if they follow each other', async (t) => {
  const synonyms = ['drill bit', 'punta']
  t.same(compare(['broca'], { name: 'HSS Drill bit 13 mm' }, { synonyms }), [1])
  t.same(compare(['broca'], { category: 'Drill Bit' }, { synonyms }), [0.5])
  t.same(compare(['broca'], { name: 'Bit for a drill' }, { synonyms }), [0])
  t.same(compare(['broca'], { name: 'Drill bits' }, { synonyms }), [0], 'only as written')
})

t.test('the rest of a long description is not compared', async (t) => {
  const description = `${'x '.repeat(500)}martillo`
  t.same(compare(['martillo'], { description }), [0])
  const matcher = createMatcher(['martillo'])
  t.same(matcher.listMatches(product({ name: 'Martillos', description })), ['martillos'])
})

t.test(
  'the beginning of a word counts less, and only for the last word and unknown words',
  async (t) => {
    t.same(compare(['mart'], { name: 'Martillo' }, { lastWord: 'mart' }), [0.9])
    t.same(compare(['mart'], { name: 'Martillo' }), [0])
    t.same(compare(['mart', 'x'], { name: 'Martillo' }, { unknownWords: ['mart'] }), [0.9, 0])
    t.same(compare(['ma', 'x'], { name: 'Martillo' }, { unknownWords: ['ma'] }), [0, 0])
  },
)

t.test('words with typos count less, wherever and however many the typos are', async (t) => {
  t.same(compare(['martilo'], { name: 'Martillo' }), [0.9])
  t.same(compare(['nartillo'], { name: 'Martillo' }), [0.9])
  t.same(compare(['destornilaodr'], { name: 'Destornillador' }), [0.9])
  t.same(compare(['festornilaodr'], { name: 'Destornillador' }), [0], 'three typos are too many')
  t.same(compare(['mar'], { name: 'Mal' }), [0], 'short words have no typo')
  t.same(compare(['2024'], { name: 'Agenda 2025' }), [0], 'nor have numbers')
  t.equal(countTypos('bolsa', 'bolas', 2), 1, 'two swapped letters are one typo')
  t.equal(countTypos('abcdef', 'uvwxyz', 2), 3, 'more than two are not counted')
})
