// Adds sent quotes by their last valid month to quote_validity, so that readers add up fewer rows.
// Databases created since then have them from the start.
import { type Kysely, sql } from 'kysely'
import {
  defineValidity,
  foldLock,
  isGrainOfValidity,
  lastOfMonth,
  lockedTables,
} from './0018-stats-definition.ts'
import { defineDetail, summaryTables } from './0022-customers-and-products.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  const { rows } = await sql`
    select from pg_constraint where conrelid = 'quote_validity'::regclass
      and conname = 'quote_validity_grain_check'
      and pg_get_constraintdef(oid) like '%month_by_month%'
  `.execute(db)
  if (rows.length > 0) return
  // Writers wait until the new triggers are in place.
  await run('lock table quotes, quote_lines in share row exclusive mode')
  await run(`select pg_advisory_xact_lock(${foldLock})`)
  // In the order of the readers. Another order could deadlock.
  await run(`lock table ${lockedTables(summaryTables)} in access exclusive mode`)
  for (const table of ['quote_validity', 'quote_validity_unfolded'])
    await run(`
      alter table ${table} drop constraint ${table}_grain_check,
        add constraint ${table}_grain_check check (${isGrainOfValidity})
    `)
  await run(`
    insert into quote_validity
      (grain, valid_until, starts_on, country, currency, quotes, base_net)
    select 'month_by_month', ${lastOfMonth('valid_until')}, starts_on, country, currency,
      sum(quotes), sum(base_net)
    from quote_validity where grain = 'month' group by 2, 3, 4, 5
    having sum(quotes) <> 0 or sum(base_net) <> 0
    order by 2, 3, 4, 5
  `)
  // Each row stays with the transaction that appended it: that decides whether it is folded.
  await run(`
    insert into quote_validity_unfolded
      (xid, grain, valid_until, starts_on, country, currency, quotes, base_net)
    select xid, 'month_by_month', ${lastOfMonth('valid_until')}, starts_on, country, currency,
      quotes, base_net
    from quote_validity_unfolded where grain = 'month'
  `)
  await defineValidity(db)
  await defineDetail(db)
}
