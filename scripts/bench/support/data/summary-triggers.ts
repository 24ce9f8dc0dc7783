// Finds and disables the triggers on quotes and lines that maintain the summary of the statistics.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../../../src/database/table-types.ts'

/** The functions of the triggers. Other triggers stay enabled. */
const triggerFunctions = ['append_quote_changes', 'append_line_changes', 'subtract_lines_of_quote']

/** Enables or disables the triggers. Throws if there are none: nothing would be measured. */
export async function setSummaryTriggers(
  db: Kysely<Tables>,
  state: 'enable' | 'disable',
): Promise<void> {
  const { rows } = await sql<{ table: string; name: string }>`
    select tgrelid::regclass::text as table, tgname as name
    from pg_trigger join pg_proc on pg_proc.oid = tgfoid
    where not tgisinternal and proname = any(${triggerFunctions})
  `.execute(db)
  if (rows.length === 0)
    throw new Error(
      `No trigger calls ${triggerFunctions.join(' or ')}. ` +
        'Name its function in scripts/bench/support/summary-triggers.ts.',
    )
  for (const { table, name } of rows)
    await sql`
      alter table ${sql.table(table)} ${sql.raw(state)} trigger ${sql.id(name)}
    `.execute(db)
}
