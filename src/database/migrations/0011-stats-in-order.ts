// Stores the summary in the order in which it is read: months apart from days, so that they fill
// few pages, and validity by its end, so that quotes that have expired are not read.
import { type Kysely, sql } from 'kysely'
import {
  cellsOf,
  foldLock,
  isEmpty,
  measureColumns,
  measureNames,
  measures,
  monthOf,
  nest,
} from './0005-stats-summary.ts'

const figuresKey = 'grain, date_kind, starts_on, country, currency'
const validityKey = 'issued_grain, valid_grain, valid_from, issued_from, country'

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
    select issued.grain, valid.grain, valid.starts_on, issued.starts_on, s.country, sum(s.sent)
    from (
      select day, coalesce(valid_until, 'infinity') as valid_until, country, sent
      from source where sent <> 0
    ) s
    cross join lateral (values ('day', s.day), ('month', ${monthOf('s.day')}))
      issued (grain, starts_on)
    cross join lateral (values ('day', s.valid_until), ('month', ${monthOf('s.valid_until')}))
      valid (grain, starts_on)
    group by 1, 2, 3, 4, 5
    order by 1, 2, 3, 4, 5
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

export async function up(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)

  // The lock keeps other processes from folding deltas during this migration.
  await run(`select pg_advisory_xact_lock(${foldLock})`)
  await run(`
    create table figures_in_order (
      grain text collate "C" not null check (grain in ('day', 'month')),
      date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
      starts_on date not null,
      country text collate "C" not null,
      currency text collate "C" not null,
      ${measureColumns}
    ) partition by list (grain)
  `)
  // Roles that may read the old table may read the new one.
  await run(`
    do $$
    declare
      reader record;
    begin
      for reader in
        select
          case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end as name
        from pg_class, aclexplode(relacl)
        where oid = 'quote_figures'::regclass and privilege_type = 'SELECT'
          and grantee <> relowner
      loop
        execute format('grant select on figures_in_order to %s', reader.name);
      end loop;
    end $$
  `)
  for (const [what, comment] of await readComments(db))
    await run(`comment on ${what} is ${literal(comment)}`)
  await run("create table quote_figures_days partition of figures_in_order for values in ('day')")
  await run(
    "create table quote_figures_months partition of figures_in_order for values in ('month')",
  )
  await run(`
    insert into figures_in_order (${figuresKey}, ${measureNames})
    select ${figuresKey}, ${measureNames} from quote_figures order by ${figuresKey}
  `)
  await run('drop table quote_figures')
  await run('alter table figures_in_order rename to quote_figures')
  await run("comment on table quote_figures_days is 'The cells of quote_figures that are days.'")
  await run(
    "comment on table quote_figures_months is 'The cells of quote_figures that are months.'",
  )
  await run(`alter table quote_figures add primary key (${figuresKey})`)
  await run(`create index quote_figures_empty on quote_figures (starts_on) where ${isEmpty()}`)

  await run(`drop index quote_validity_month_by_day`)
  await run(
    `alter table quote_validity
      drop constraint quote_validity_pkey, add primary key (${validityKey})`,
  )
  await run(`comment on column quote_validity.valid_from is ${literal(validFromComment)}`)

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
  // Sent quotes without a last day had no rows until now. One statement reads the quotes and their
  // deltas that are not folded yet in one snapshot.
  await run(`
    insert into quote_validity (${validityKey}, quotes)
    select issued.grain, valid.grain, date 'infinity', issued.starts_on, country, sum(quotes)
    from (
      select issued_on as day, coalesce(country, '') as country, count(*) as quotes
      from quotes where status = 'sent' and valid_until is null
      group by 1, 2
      union all
      select day, country, -sent from quote_deltas where sent <> 0 and valid_until is null
    ) endless
    cross join lateral (values ('day', day), ('month', ${monthOf('day')}))
      issued (grain, starts_on)
    cross join (values ('day'), ('month')) valid (grain)
    group by 1, 2, 3, 4, 5
    having sum(quotes) <> 0
    order by 1, 2, 3, 4, 5
  `)
}

/** Returns the comments on quote_figures and its columns, for the table that replaces it. */
async function readComments(db: Kysely<unknown>): Promise<[what: string, comment: string][]> {
  const { rows } = await sql<{ what: string; comment: string }>`
    select
      case objsubid when 0 then 'table figures_in_order'
        else 'column figures_in_order.' || attname end as what,
      description as comment
    from pg_description
    left join pg_attribute on attrelid = objoid and attnum = objsubid and objsubid > 0
    where objoid = 'quote_figures'::regclass and classoid = 'pg_class'::regclass
  `.execute(db)
  return rows.map(({ what, comment }) => [what, comment])
}

const validFromComment =
  'The last day on which they stand, or the first day of its month; infinity: they do not end.'

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`
