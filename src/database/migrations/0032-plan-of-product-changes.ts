// Keeps the trigger of product changes quick for large statements. Plans are cached for the
// session: a nested loop that was planned for one product takes a minute for ten thousand.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter function queue_product_changes() set enable_nestloop = off`.execute(db)
}
