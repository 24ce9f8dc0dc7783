// Facet counts: spellings that a filter treats as equal are one value.
import t from 'tap'
import { countFacets, sumFacetCounts } from '../../../src/search/hits/facet-counts.ts'
import type { EngineResult } from '../../../src/search-engine/search-client.ts'
import { exampleHit } from '../../support/stub-engine.ts'

t.test('counts of several results are added', async (t) => {
  const results = [{ Brocas: 1, Tubos: 2 }, { TUBOS: 3 }, undefined].map(
    (category): EngineResult => ({
      hits: [],
      estimatedTotalHits: 0,
      ...(category && { facetDistribution: { category } }),
    }),
  )
  const { category = {}, brand } = sumFacetCounts(['brand', 'category'], results)
  t.same(category, { Tubos: 5, Brocas: 1 })
  t.same(brand, {})
})

t.test('hits without a value are not counted, nor rare values beyond a hundred', async (t) => {
  const rare = Array.from({ length: 120 }, (_, n) => `B${n}`)
  const names = [null, 'Acana', ...rare, 'Ácana', 'ácana']
  const hits = names.map((brand) => ({ ...exampleHit, brand }))
  const { brand = {}, category } = countFacets(['brand', 'category'], hits)
  t.same(category, {})
  t.match(brand, { Ácana: 2, Acana: 1 })
  t.equal(Object.keys(brand).length, 100)
})
