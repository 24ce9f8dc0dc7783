// Keeps years and totals of months in editions, so that readers do not visit the dead versions of
// their rows that folding leaves behind beside an old snapshot.
import { type Kysely, sql } from 'kysely'
import { foldLock, grainsInEditions, literal, lockedTables } from './0018-stats-definition.ts'
import { defineDetail, summaryTables } from './0022-customers-and-products.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  // Writers wait until the new triggers are in place.
  await run('lock table quotes, quote_lines in share row exclusive mode')
  await run(`select pg_advisory_xact_lock(${foldLock})`)
  // In the order of the readers. Another order could deadlock.
  await run(`lock table ${lockedTables(summaryTables)} in access exclusive mode`)
  await run(`
    alter table quote_summary add column edition integer not null default 1,
      add column edition_updates_left bigint not null default 0
  `)
  await run(`
    alter table quote_figures add column edition integer not null default 0,
      drop constraint quote_figures_pkey
  `)
  // Totals of days are as many as the days: they get pages of their own and are not copied.
  const grains = grainsInEditions.map(literal).join(', ')
  await run(`
    alter table quote_figures detach partition quote_figures_totals;
    create table quote_figures_day_totals partition of quote_figures for values in ('day_total')
      with (fillfactor = 50);
    with moved as (delete from quote_figures_totals where grain = 'day_total' returning *)
    insert into quote_figures_day_totals select * from moved;
    update quote_figures_totals set edition = 1;
    alter table quote_figures attach partition quote_figures_totals for values in (${grains});
    alter table quote_figures
      add primary key (grain, edition, date_kind, starts_on, country, currency)
  `)
  await defineDetail(db)
  for (const [what, comment] of comments) await run(`comment on ${what} is ${literal(comment)}`)
}

const comments: [what: string, comment: string][] = [
  ['table quote_figures_totals', 'The rows of quote_figures that are years and totals of months.'],
  ['table quote_figures_day_totals', 'The rows of quote_figures that are totals of days.'],
  [
    'column quote_figures.edition',
    'The edition of years and totals of months, and 0 in other rows. Only the current edition ' +
      'has visible rows. As part of the key, it lets readers skip the dead rows of earlier ones.',
  ],
  ['column quote_summary.edition', 'The current edition of years and totals of months.'],
  [
    'column quote_summary.edition_updates_left',
    'After so many more updates of their rows, folding begins the next edition.',
  ],
]
