// Finds and disables the triggers on quotes that maintain the summary of the statistics.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../../src/database/table-types.ts'

/** The functions of the triggers. Other triggers on quotes stay enabled. */
const triggerFunctions = ['append_quote_changes']

/** Enables or disables the triggers. Throws if there are none: nothing would be measured. */
export async function setSummaryTriggers(
  db: Kysely<Tables>,
  state: 'enable' | 'disable',
): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select tgname as name from pg_trigger join pg_proc on pg_proc.oid = tgfoid
    where tgrelid = 'quotes'::regclass and not tgisinternal
      and proname = any(${triggerFunctions})
  `.execute(db)
  if (rows.length === 0)
    throw new Error(
      `No trigger on quotes calls ${triggerFunctions.join(' or ')}. ` +
        'Name its function in scripts/bench/support/summary-triggers.ts.',
    )
  for (const { name } of rows)
    await sql`alter table quotes ${sql.raw(state)} trigger ${sql.id(name)}`.execute(db)
}
