// Lets polls and folds find by an index what is not folded, whatever the planner expects. Computes
// the figures of single days by customer and by product without grouping them first.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'

const statements = join(import.meta.dirname, '0042-figures-of-days.sql')

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(readFileSync(statements, 'utf8')).execute(db)
}
