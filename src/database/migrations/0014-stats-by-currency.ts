// Adds the currency to quote_validity, so that statistics of one currency count the sent quotes
// that are still valid.
import { type Kysely, sql } from 'kysely'
import {
  cellsOf,
  foldLock,
  isEmpty,
  measureNames,
  measures,
  monthOf,
  nest,
} from './0005-stats-summary.ts'

const figuresKey = 'grain, date_kind, starts_on, country, currency'
const validityKey = 'issued_grain, valid_grain, valid_from, issued_from, country, currency'

/** SQL that selects rows of quote_validity from `sentQuotes`, which has counts by day. */
const selectValidity = (sentQuotes: string) => `
select issued.grain, valid.grain, valid.starts_on, issued.starts_on, s.country, s.currency,
  sum(s.sent)
from (
  ${nest(sentQuotes, 2)}
) s
cross join lateral (values ('day', s.day), ('month', ${monthOf('s.day')}))
  issued (grain, starts_on)
cross join lateral (values ('day', s.valid_until), ('month', ${monthOf('s.valid_until')}))
  valid (grain, starts_on)
group by 1, 2, 3, 4, 5, 6
order by 1, 2, 3, 4, 5, 6`

const changesOfSent = `
select day, coalesce(valid_until, 'infinity') as valid_until, country, currency, sent
from source where sent <> 0`

/**
 * SQL that adds `source`, which has the columns of quote_deltas, to days and months. Rows are
 * inserted in the order of the keys, so that rows that are read together are stored together.
 */
const foldInto = (source: string) => `
source as (
    ${nest(source, 2)}
  ),
  figures as (
    insert into quote_figures as f (grain, date_kind, starts_on, country, currency, ${measureNames})
    select piece.grain, s.date_kind, piece.starts_on, s.country, s.currency,
      ${measures.map((name) => `sum(s.${name})`).join(', ')}
    from source s
    cross join lateral (values ('day', s.day), ('month', ${monthOf('s.day')}))
      piece (grain, starts_on)
    group by 1, 2, 3, 4, 5
    order by 1, 2, 3, 4, 5
    on conflict (${figuresKey})
    do update set
      ${measures.map((name) => `${name} = f.${name} + excluded.${name}`).join(', ')}
  ),
  validity as (
    insert into quote_validity as v (${validityKey}, quotes)
    ${nest(selectValidity(changesOfSent), 4)}
    on conflict (${validityKey})
    do update set quotes = v.quotes + excluded.quotes
  )`

/** SQL that takes the oldest deltas out of their table. */
const oldestDeltas = `
  delete from quote_deltas
  where id in (select id from quote_deltas order by id limit batch) returning *`

/** SQL that groups all quotes into rows of the summary. */
const allQuotes = cellsOf(
  'select 1 as sign, q.*, c.base, c.digits from quotes q left join company_base c on true',
  'r.base',
  'r.digits',
)

/** SQL that counts the sent quotes without their unfolded changes, in one snapshot. */
const foldedSentQuotes = `
select issued_on as day, coalesce(valid_until, 'infinity') as valid_until,
  coalesce(country, '') as country, currency, count(*) as sent
from quotes where status = 'sent'
group by 1, 2, 3, 4
union all
select day, coalesce(valid_until, 'infinity'), country, currency, -sent
from quote_deltas where sent <> 0`

export async function up(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)

  // The lock keeps other processes from folding deltas during this migration.
  await run(`select pg_advisory_xact_lock(${foldLock})`)
  await run('truncate quote_validity')
  await run(`
    alter table quote_validity add column currency text collate "C" not null,
      drop constraint quote_validity_pkey, add primary key (${validityKey})
  `)
  await run("comment on column quote_validity.currency is 'Currency of the quotes.'")
  await run(`
    create or replace function fold_quote_deltas(batch integer) returns integer
    language plpgsql security definer set search_path = public, pg_temp as $$
    declare
      count_folded integer;
    begin
      if not pg_try_advisory_xact_lock(${foldLock}) then
        return 0;
      end if;
      with ${nest(foldInto(oldestDeltas), 6)}
      select count(*) into count_folded from source;
      if count_folded > 0 then
        delete from quote_figures where ${isEmpty()};
        delete from quote_validity where quotes = 0;
        update quote_summary set folded = folded + count_folded;
      end if;
      return count_folded;
    end $$
  `)
  await run(`
    create or replace function rebuild_quote_summary() returns void language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(${foldLock});
      delete from quote_figures;
      delete from quote_validity;
      with gone as (delete from quote_deltas), company_base as (
        select base_currency as base, currency_digits(base_currency) as digits from company
      ), ${nest(foldInto(allQuotes), 6)}
      update quote_summary set generation = gen_random_uuid(), folded = 0;
    end $$
  `)
  await run(`
    insert into quote_validity (${validityKey}, quotes) ${selectValidity(foldedSentQuotes)}
  `)
  await run('delete from quote_validity where quotes = 0')
}
