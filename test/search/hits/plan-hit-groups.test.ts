// The hit groups of a search: their order, and that together they have each product once.
import t from 'tap'
import { planHitGroups } from '../../../src/search/hits/plan-hit-groups.ts'
import { parseQuery } from '../../../src/text/parse-query.ts'
import { builtInWords } from '../../../src/words/search-words.ts'
import { toWordKey } from '../../../src/words/word-rules.ts'

/** Plans the groups of a search for a text. The company pins a product to it. */
function planFor(text: string, offset = 0) {
  const pins = new Map([[toWordKey(text), ['P-1']]])
  const query = parseQuery(text, { ...builtInWords, pins })
  return planHitGroups({ text, query, limit: 8, offset, facets: [], category: 'Tubos' }, 'products')
}

const groupsByText: Record<string, string[]> = {
  martillo: ['exact-sku', 'pinned', 'words'],
  'B-١': ['exact-sku', 'exact-sku', 'pinned', 'words'],
  'ab 742 caña': ['exact-sku', 'pinned', 'partial-code', 'partial-code', 'enye-names', 'words'],
  '8205.20': ['exact-sku', 'pinned', 'partial-code', 'partial-code', 'partial-code', 'words'],
  '*': ['exact-sku', 'pinned'],
}

for (const [text, kinds] of Object.entries(groupsByText))
  t.test(`groups of ${text}`, async (t) => {
    const { groups } = planFor(text)
    t.same(
      groups.map(({ kind }) => kind),
      kinds,
      'the words are last',
    )
    const excluded: string[] = []
    for (const { kind, query } of groups) {
      const [category, ...others] = query.filter ?? []
      t.equal(category, 'category = "Tubos"')
      // What selects the products of the group is its last filter.
      const own = kind === 'words' ? [] : others.slice(-1)
      t.same(others, [...excluded, ...own], `${kind} excludes the groups before it`)
      excluded.push(...own.map((condition) => `NOT (${condition})`))
    }
  })

t.test('only hits of the last group are skipped', async (t) => {
  const { groups, skippedHits } = planFor('martillo', 1_000)
  t.ok(skippedHits > 0)
  t.same(
    groups.map(({ query }) => query.offset),
    [0, 0, skippedHits],
  )
  t.equal(planFor('caña', 1_000).skippedHits, 0, 'names with ñ may have many products')
})
