// Runs a test twice: the search engine answers, and then PostgreSQL alone. Both must find the same.
import type { Test } from 'tap'
import type { SearchResponse } from '../../../src/search/schema.ts'
import { searchProducts } from '../database/search-products.ts'
import { eventually } from '../eventually.ts'
import { type TestService, testService, withoutEngine } from './test-service.ts'

export type Source = 'index' | 'database'

export type SearchedCatalogue = {
  source: Source
  service: TestService
  /**
   * Returns the response of this source that meets the condition, or after some seconds the last
   * one, because the engine may be late.
   */
  search(
    parameters: Record<string, string>,
    isExpected?: (response: SearchResponse) => boolean,
  ): Promise<SearchResponse>
  /** Returns the SKUs that a text finds. */
  skus(q: string, isExpected?: (skus: string[]) => boolean): Promise<string[]>
}

type Row = { sku: string; name: string; [column: string]: unknown }

/** `products` are in the table and in the index when the test begins. */
export function testBothSources(
  t: Test,
  products: Row[],
  test: (t: Test, catalogue: SearchedCatalogue) => Promise<void>,
): void {
  for (const source of ['index', 'database'] as const)
    void t.test(source, async (t) => {
      const service = await testService(t, {
        config: { SEARCH_CACHE_MB: 0, ...(source === 'database' && withoutEngine) },
      })
      if (products.length > 0) await service.db.insertInto('products').values(products).execute()
      if (source === 'index') await service.sync()
      const search: SearchedCatalogue['search'] = (parameters, isExpected = () => true) =>
        eventually(
          () => searchProducts(service.app, parameters),
          (response) => {
            const { meta } = response
            const isComplete = source === 'database' || meta?.degraded === false
            return meta?.source === source && isComplete && isExpected(response)
          },
        )
      const skus: SearchedCatalogue['skus'] = async (q, isExpected = () => true) => {
        const listSkus = ({ hits }: SearchResponse) => hits.map(({ sku }) => sku)
        return listSkus(await search({ q }, (response) => isExpected(listSkus(response))))
      }
      await test(t, { source, service, search, skus })
    })
}
