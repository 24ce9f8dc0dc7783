// Adds sent quotes by their last valid month to quote_validity, so that readers add up fewer rows.
// Databases created since then have them from the start.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'

const statements = join(import.meta.dirname, '0037-validity-by-month.sql')

export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql`
    select from pg_constraint where conrelid = 'quote_validity'::regclass
      and conname = 'quote_validity_grain_check'
      and pg_get_constraintdef(oid) like '%month_by_month%'
  `.execute(db)
  if (rows.length === 0) await sql.raw(readFileSync(statements, 'utf8')).execute(db)
}
