// Keeps years and totals of months in editions, so that readers do not visit the dead versions of
// their rows that folding leaves behind beside an old snapshot.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'

const statements = join(import.meta.dirname, '0039-editions-of-totals.sql')

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(readFileSync(statements, 'utf8')).execute(db)
}
