// The example products of the demo, for databases of tests.
import { parse } from 'csv-parse/sync'
import { readExampleProducts } from '../../../scripts/demo/load-data.ts'
import type { Database } from '../../../src/database/postgres-pool.ts'

/** Inserts the example products, without their brands and descriptions unless `isWhole`. */
export async function insertExampleProducts(db: Database, { isWhole = false } = {}): Promise<void> {
  const products = parse(readExampleProducts(), { columns: true }) as Record<string, string>[]
  const rows = products.map(
    ({ sku = '', name = '', category, unit, price, currency, brand, description }) => ({
      sku,
      name,
      category,
      unit,
      price,
      currency,
      ...(isWhole && { brand: brand || null, description: description || null }),
    }),
  )
  await db.insertInto('products').values(rows).execute()
}
