// The summary that statistics are read from. Triggers append signed deltas in the transaction of
// the writer, and a background job folds them into days and months.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'

const statements = join(import.meta.dirname, '0005-stats-summary.sql')

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(readFileSync(statements, 'utf8')).execute(db)
}
