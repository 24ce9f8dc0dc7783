// How well the text of a product matches the words of a query.
import t from 'tap'
import { countTypos, TextSimilarity } from '../../src/search/relaxation/text-similarity.ts'
import type { EngineHit } from '../../src/search-engine/search-client.ts'

const product = (values: Partial<EngineHit>) =>
  ({ sku: 'A-1', name: '', brand: null, category: null, description: null, ...values }) as EngineHit
const compare = (
  words: string[],
  values: Partial<EngineHit>,
  { lastWord = '', equivalents = new Map<string, string[]>(), unknownWords = [''] } = {},
) => {
  const queryWords = words.map((text, position) => ({
    text,
    position,
    isLast: text === lastWord,
    productCount: unknownWords.includes(text) ? 0 : 100,
    synonyms: equivalents.get(text) ?? [],
    translations: [],
  }))
  return new TextSimilarity(queryWords).compare(product(values))
}

t.test('an equal word counts by its field', async (t) => {
  t.same(compare(['martillo'], { name: 'Martillo de bola' }), [1])
  t.same(compare(['acana'], { brand: 'Ácana' }), [1])
  t.same(compare(['herramientas'], { category: 'Herramientas' }), [0.8])
  t.same(compare(['fresno'], { description: 'Mango de fresno' }), [0.5])
  t.same(compare(['fresno'], { name: 'Fresno', description: 'Mango de fresno' }), [1])
  t.same(compare(['plata'], { name: 'Martillo' }), [0])
})

t.test('singular, plural, sizes, codes and translations count as the word', async (t) => {
  t.same(compare(['motores', 'luces'], { name: 'Motor con luz' }), [1, 1])
  t.same(compare(['18v'], { name: 'Taladro 18 V' }), [1])
  t.same(compare(['742'], { sku: 'AB-742-X', name: 'Uno' }), [1])
  const equivalents = new Map([['syringe', ['jeringa']]])
  t.same(compare(['syringe'], { name: 'Jeringas desechables' }, { equivalents }), [1])
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

t.test('words with typos count less, and least with a typo in the first letter', async (t) => {
  t.same(compare(['martilo'], { name: 'Martillo' }), [0.85])
  t.same(compare(['nartillo'], { name: 'Martillo' }), [0.6])
  t.same(compare(['destornilaodr'], { name: 'Destornillador' }), [0.7])
  t.same(compare(['mar'], { name: 'Mal' }), [0], 'short words have no typo')
  t.same(compare(['2024'], { name: 'Agenda 2025' }), [0], 'nor have numbers')
  t.equal(countTypos('bolsa', 'bolas', 2), 1, 'two swapped letters are one typo')
  t.equal(countTypos('abcdef', 'uvwxyz', 2), 3, 'more than two are not counted')
})
