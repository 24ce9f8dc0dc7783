// Defines once what a quote contributes to the statistics: the triggers, the rebuild and the
// verification use the same functions. Views add the changes that are not folded yet to the
// summary. An index finds these changes, so that nobody reads the dead rows of folded ones.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'

const statements = join(import.meta.dirname, '0018-stats-definition.sql')

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(readFileSync(statements, 'utf8')).execute(db)
}
