// The order of the products that a relaxed query has found.
import t from 'tap'
import { QueryWordMatcher } from '../../../src/search/relaxation/query-word-matcher.ts'
import { rankByMatchedWords } from '../../../src/search/relaxation/relax-query.ts'
import { exampleHit } from '../../support/stub-engine.ts'

const matcher = new QueryWordMatcher(
  ['martillo', 'fresno'].map((text, position) => ({
    text,
    position,
    isLast: false,
    productCount: 100,
    synonyms: [],
    translations: [],
  })),
)

const toHit = (name: string) => ({ ...exampleHit, id: name, name })

const rank = (weights: number[], ...lists: string[][]) =>
  rankByMatchedWords(
    matcher,
    weights,
    lists.map((names) => names.map(toHit)),
  ).map(({ name }) => name)

t.test('products with more of the words come first, whatever their lists', async (t) => {
  t.same(rank([1, 1], ['Martillo', 'Martillo de fresno'], ['Martillo', 'Fresno']), [
    'Martillo de fresno',
    'Martillo',
    'Fresno',
  ])
})

t.test('a product with the word of more weight comes first', async (t) => {
  t.same(rank([0.5, 1], ['Martillo', 'Fresno']), ['Fresno', 'Martillo'])
  t.same(rank([1, 0.5], ['Fresno', 'Martillo']), ['Martillo', 'Fresno'])
})

t.test('of equal products, those in more lists or higher in them come first', async (t) => {
  t.same(rank([1, 1], ['Martillo A', 'Martillo B'], ['Martillo B']), ['Martillo B', 'Martillo A'])
  t.same(rank([1, 1], ['Fresno', 'Martillo A'], ['Martillo B']), [
    'Fresno',
    'Martillo B',
    'Martillo A',
  ])
})

t.test('of products that are equal in everything, the first list decides', async (t) => {
  t.same(rank([1, 1], ['Martillo A'], ['Martillo B']), ['Martillo A', 'Martillo B'])
})
