// Adds money by status and the days from issue to decision to the statistics.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'

const statements = join(import.meta.dirname, '0019-money-by-status.sql')

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(readFileSync(statements, 'utf8')).execute(db)
}
