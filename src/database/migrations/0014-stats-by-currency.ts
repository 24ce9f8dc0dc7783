// Adds the currency to quote_validity, so that statistics of one currency count the sent quotes
// that are still valid.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'

const statements = join(import.meta.dirname, '0014-stats-by-currency.sql')

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(readFileSync(statements, 'utf8')).execute(db)
}
