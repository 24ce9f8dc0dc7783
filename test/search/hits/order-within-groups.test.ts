// The order of hits with the same SKU key, and of pinned products.
import t from 'tap'
import {
  maxOrderedSkus,
  putExactSpellingFirst,
  putInPinnedOrder,
} from '../../../src/search/hits/order-within-groups.ts'
import type { EngineHit } from '../../../src/search-engine/search-client.ts'
import { exampleHit } from '../../support/stub-engine.ts'

const toHits = (skus: string[]) => skus.map((sku) => ({ ...exampleHit, sku }))
const toSkus = (hits: EngineHit[]) => hits.map(({ sku }) => sku)

t.test('the SKU as typed is first, then other cases, then other separators', async (t) => {
  const order = (skus: string[], typed: string) =>
    toSkus(putExactSpellingFirst(toHits(skus), typed))
  t.same(order(['AB1', 'ab-1', 'AB-1', 'Ab-1'], 'AB-1'), ['AB-1', 'ab-1', 'Ab-1', 'AB1'])
  t.same(order(['ñ1', 'N\u0303-1'], 'Ñ-1'), ['N\u0303-1', 'ñ1'], 'in another Unicode form')
  const many = Array.from({ length: maxOrderedSkus }, (_, n) => `A${'-'.repeat(n + 2)}1`)
  t.same(order([...many, 'A-1', 'a-1'], 'A-1'), [...many, 'A-1', 'a-1'], 'later hits stay')
})

t.test('pinned products have the order of the company', async (t) => {
  const order = (skus: string[], pinned: string[]) => toSkus(putInPinnedOrder(toHits(skus), pinned))
  t.same(order(['a1', 'A-1', 'X', 'b 2', 'B-2'], ['B-2', 'A-1']), ['B-2', 'b 2', 'A-1', 'a1', 'X'])
  t.same(order(['①', '1'], ['1']), ['1', '①'], 'the engine does not distinguish them')
})
