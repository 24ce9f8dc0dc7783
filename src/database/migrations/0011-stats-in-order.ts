// Stores the summary in the order in which it is read: months apart from days, so that they fill
// few pages, and validity by its end, so that quotes that have expired are not read.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'

const statements = join(import.meta.dirname, '0011-stats-in-order.sql')

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(readFileSync(statements, 'utf8')).execute(db)
}
