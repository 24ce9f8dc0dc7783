// An index for searching HS codes by their beginning while PostgreSQL replaces the search engine.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index products_hs_code on products (hs_code text_pattern_ops)
    where active and hs_code is not null`.execute(db)
}
