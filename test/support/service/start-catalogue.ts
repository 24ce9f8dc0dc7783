// Starts a service with given products, and searches in its search engine.
import type { Test } from 'tap'
import type { SearchResponse } from '../../../src/search/schema.ts'
import { searchProducts } from '../database/search-products.ts'
import { eventually } from '../eventually.ts'
import { type TestService, testService } from './test-service.ts'

/** Returns the response to a search in the engine. Fails the test if it is degraded. */
export async function searchIndex(
  t: Test,
  { app }: TestService,
  parameters: Record<string, string>,
): Promise<SearchResponse> {
  // On a busy machine the engine may be late. Then the response is degraded.
  // Other tests cover that.
  const response = await eventually(
    () => searchProducts(app, parameters),
    ({ meta }) => meta.source === 'index' && !meta.degraded,
  )
  t.match(response.meta, { source: 'index', degraded: false }, String(parameters.q))
  return response
}

/** Starts a service with these products only. Returns functions that search in its engine. */
export async function startCatalogue(
  t: Test,
  products: { sku: string; name: string; [column: string]: unknown }[],
) {
  const service = await testService(t)
  await service.db.insertInto('products').values(products).execute()
  await service.sync()
  const search = (q: string, more: Record<string, string> = {}) =>
    searchIndex(t, service, { q, ...more })
  const skus = async (q: string) => (await search(q)).hits.map(({ sku }) => sku)
  const first = async (q: string) => (await skus(q))[0]
  return { service, search, skus, first }
}
