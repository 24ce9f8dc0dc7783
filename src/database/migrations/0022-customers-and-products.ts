// Adds figures by customer and by product to the summary of the statistics, and the scope
// stats:detail that reads them. See docs/decisions/0020-statistics-by-customer-and-product.md.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'

const statements = join(import.meta.dirname, '0022-customers-and-products.sql')

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(readFileSync(statements, 'utf8')).execute(db)
}
