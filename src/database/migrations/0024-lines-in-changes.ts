// Adds the lines of accepted quotes to the single changes of quotes, so that a writer appends one
// row instead of one for each product. Databases created since then have them from the start.
import { type Kysely, sql } from 'kysely'
import { foldLock, lockedTables } from './0018-stats-definition.ts'
import { addLinesToChanges, defineDetail, summaryTables } from './0022-customers-and-products.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql`
    select from pg_attribute where attrelid = 'quote_changes'::regclass and attname = 'lines'
  `.execute(db)
  if (rows.length > 0) return
  // Writers wait until the new triggers are in place.
  await sql`
    lock table quotes, quote_lines in share row exclusive mode;
    select pg_advisory_xact_lock(${sql.raw(foldLock)})
  `.execute(db)
  // In the order of the readers. Another order could deadlock.
  await sql`lock table ${sql.raw(lockedTables(summaryTables))} in access exclusive mode`.execute(db)
  await addLinesToChanges(db)
  await defineDetail(db)
}
