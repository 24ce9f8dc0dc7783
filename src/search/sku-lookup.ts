// Looks up products by their exact SKUs in PostgreSQL. No search engine is needed.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { type ProductRow, shownColumns, toProduct } from '../products/fields.ts'
import type { Hit, SearchResponse } from './schema.ts'

/**
 * Returns the active product of each SKU, in the order of `skus`. Null: no active product has
 * exactly this SKU.
 */
export async function lookUpSkus(db: Kysely<Tables>, skus: string[]): Promise<(Hit | null)[]> {
  const rows = await db
    .selectFrom('products')
    .select(shownColumns)
    .where('sku', 'in', skus)
    .where('active', '=', true)
    .execute()
  const toHit = (row: ProductRow): Hit => ({ ...toProduct(row), highlights: {}, match: 'exact' })
  const products = new Map(rows.map((row) => [row.sku, toHit(row)]))
  return skus.map((sku) => products.get(sku) ?? null)
}

/** Returns the response to a look-up. It has the shape of a search response, but no hits. */
export function toSkuResponse(bySku: (Hit | null)[]): SearchResponse {
  return {
    query: '',
    hits: [],
    total: new Set(bySku.flatMap((product) => product?.sku ?? [])).size,
    bySku,
    meta: { source: 'database', degraded: false, indexedAt: null },
  }
}
