// Fills a database with the example products of the demo.
import { exampleProducts } from '../../../scripts/demo/invented-data/example-rows.ts'
import type { Database } from '../../../src/database/postgres-pool.ts'

/** Inserts the example products without their brands and descriptions. */
export async function insertExampleProducts(db: Database): Promise<void> {
  const rows = exampleProducts().map(({ sku, name, category, unit, price, currency }) => ({
    sku,
    name,
    category,
    unit,
    price,
    currency,
  }))
  await db.insertInto('products').values(rows).execute()
}
