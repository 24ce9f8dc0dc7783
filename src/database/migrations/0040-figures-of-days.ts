// Computes the figures by customer and by product of single days without grouping them, which took
// longer than adding them up.
import type { Kysely } from 'kysely'
import { defineDayFigures } from './0022-customers-and-products.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  await defineDayFigures(db)
}
