// Later pages of many hits: they are parts of the same list, and the engine does not return all
// hits before them again.
import t from 'tap'
import { planParts } from '../../src/search/hits/hit-parts.ts'
import { parseQuery } from '../../src/text/parse-query.ts'

const plan = (text: string, offset: number) =>
  planParts({ text, query: parseQuery(text), offset, limit: 50, facets: [] }, 'products').map(
    ({ kind, query }) => [kind, query.offset, query.limit],
  )

t.test('only some hits before the page are requested again', async (t) => {
  t.same(plan('arandela', 0), [
    ['exact-sku', 0, 200],
    ['words', 0, 50],
  ])
  t.same(plan('arandela', 1_000), [
    ['exact-sku', 0, 1_050],
    ['words', 800, 250],
  ])
  t.same(plan('', 1_000), [['words', 1_000, 50]])
  t.same(plan('*', 0), [['exact-sku', 0, 200]])
})

t.test('parts of a code or words with ñ are requested from their beginning', async (t) => {
  t.same(
    plan('caña', 300).map(([, offset]) => offset),
    [0, 0, 0],
  )
})
