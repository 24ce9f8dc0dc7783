// Adds the lines of accepted quotes to the single changes of quotes, so that a writer appends one
// row instead of one for each product. Databases created since then have them from the start. In
// others the column stays empty until 0037 defines the functions that use it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'

const statements = join(import.meta.dirname, '0024-lines-in-changes.sql')

export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql`
    select from pg_attribute where attrelid = 'quote_changes'::regclass and attname = 'lines'
  `.execute(db)
  if (rows.length === 0) await sql.raw(readFileSync(statements, 'utf8')).execute(db)
}
