// The summary that statistics are read from. Triggers append signed deltas in the transaction of
// the writer, and a background job folds them into days and months.
import { type Kysely, sql } from 'kysely'

/**
 * The counts and amounts of each row. Amounts are of accepted quotes, because only they are
 * revenue.
 */
export const measures = [
  'drafts',
  'sent',
  'accepted',
  'rejected',
  'expired',
  'net',
  'base_net',
  'unconverted',
  'unconverted_net',
] as const
export const measureColumns = measures
  .map((name) => `${name} ${name.endsWith('net') ? 'numeric' : 'bigint'} not null`)
  .join(', ')
export const measureNames = measures.join(', ')
/** Returns the SQL condition that every measure of a row is 0. */
export const isEmpty = (of = '') => measures.map((name) => `${of}${name} = 0`).join(' and ')

/** Indents the lines of nested SQL. The first line continues the current one. */
export const nest = (text: string, spaces: number) =>
  text.trim().replaceAll('\n', `\n${' '.repeat(spaces)}`)

/** Returns SQL for the first day of the month of `day`. */
export const monthOf = (day: string) => `date_trunc('month', ${day}::timestamp)::date`

/**
 * Returns SQL that groups `rows`, which are quotes with a `sign`, into rows of the summary. A quote
 * counts on its day of issue, and an accepted quote also on its day of decision.
 */
export const cellsOf = (rows: string, base: string, digits: string) => `
  select date_kind, day, country, currency, valid_until, ${measureNames} from (
    select on_day.date_kind, on_day.day, coalesce(q.country, '') as country, q.currency,
      case when q.status = 'sent' then q.valid_until end as valid_until,
      coalesce(sum(sign) filter (where status = 'draft'), 0) as drafts,
      coalesce(sum(sign) filter (where status = 'sent'), 0) as sent,
      coalesce(sum(sign) filter (where status = 'accepted'), 0) as accepted,
      coalesce(sum(sign) filter (where status = 'rejected'), 0) as rejected,
      coalesce(sum(sign) filter (where status = 'expired'), 0) as expired,
      coalesce(sum(sign * net) filter (where status = 'accepted'), 0) as net,
      coalesce(sum(sign * own_base_net) filter (where status = 'accepted'), 0) as base_net,
      coalesce(sum(sign) filter (where status = 'accepted' and own_base_net is null), 0)
        as unconverted,
      coalesce(sum(sign * net) filter (where status = 'accepted' and own_base_net is null), 0)
        as unconverted_net
    from (
      -- Each quote is converted and rounded half up before it is summed.
      select r.*,
        case when r.currency = ${base} then r.net else round(r.net * r.rate, ${digits}) end
          as own_base_net
      from (${rows}) r
      where r.status <> 'superseded'
    ) q
    cross join lateral (values
      ('issued', q.issued_on),
      ('accepted', case when q.status = 'accepted' then coalesce(q.decided_on, q.issued_on) end)
    ) on_day (date_kind, day)
    where on_day.day is not null
    group by 1, 2, 3, 4, 5
  ) cells where not (${isEmpty()})`

/**
 * SQL that adds `source`, which has the columns of quote_deltas, to days and months. INSERT … ON
 * CONFLICT always uses the key, whatever the planner estimates.
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
    on conflict (grain, date_kind, starts_on, country, currency)
    do update set
      ${measures.map((name) => `${name} = f.${name} + excluded.${name}`).join(', ')}
  ),
  validity as (
    insert into quote_validity as v
      (issued_grain, valid_grain, issued_from, valid_from, country, quotes)
    select issued.grain, valid.grain, issued.starts_on, valid.starts_on, s.country, sum(s.sent)
    from source s
    cross join lateral (values ('day', s.day), ('month', ${monthOf('s.day')}))
      issued (grain, starts_on)
    cross join lateral (values ('day', s.valid_until), ('month', ${monthOf('s.valid_until')}))
      valid (grain, starts_on)
    where s.valid_until is not null
    group by 1, 2, 3, 4, 5
    on conflict (issued_grain, valid_grain, issued_from, valid_from, country)
    do update set quotes = v.quotes + excluded.quotes
  )`

/** The key of the lock that lets one process at a time fold or rebuild. */
export const foldLock = `hashtextextended('trade-quoting-service fold', 0)`

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

  await run(`
    create table quote_deltas (
      id bigint generated always as identity primary key,
      date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
      day date not null,
      country text collate "C" not null,
      currency text collate "C" not null,
      valid_until date,
      ${measureColumns}
    ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000)
  `)
  await run(`
    create table quote_figures (
      grain text collate "C" not null check (grain in ('day', 'month')),
      date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
      starts_on date not null,
      country text collate "C" not null,
      currency text collate "C" not null,
      ${measureColumns},
      primary key (grain, date_kind, starts_on, country, currency)
    )
  `)
  await run(`create index quote_figures_empty on quote_figures (starts_on) where ${isEmpty()}`)
  await run(`
    create table quote_validity (
      issued_grain text collate "C" not null check (issued_grain in ('day', 'month')),
      valid_grain text collate "C" not null check (valid_grain in ('day', 'month')),
      issued_from date not null,
      valid_from date not null,
      country text collate "C" not null,
      quotes bigint not null,
      primary key (issued_grain, valid_grain, issued_from, valid_from, country)
    )
  `)
  // Finds the days of the current month for every month of issue.
  await run(`
    create index quote_validity_month_by_day on quote_validity (valid_from)
    where issued_grain = 'month' and valid_grain = 'day'
  `)
  await run('create index quote_validity_empty on quote_validity (valid_from) where quotes = 0')
  await run(`
    create table quote_summary (
      the_only_row boolean primary key default true check (the_only_row),
      generation uuid not null default gen_random_uuid(),
      folded bigint not null default 0
    )
  `)
  await run('insert into quote_summary default values')

  // Rows are only appended, in the transaction of the writer: writers share no row, so they never
  // wait for each other. There is no NOTIFY, because NOTIFY serialises commits. With security
  // definer a writer of quotes needs no right to write the summary.
  const allRows = 'select 1 as sign, n.* from new_rows n union all select -1, o.* from old_rows o'
  await run(`
    create function append_quote_deltas() returns trigger
    language plpgsql security definer set search_path = public, pg_temp as $$
    declare
      base text;
      digits integer;
    begin
      select base_currency, currency_digits(base_currency) into base, digits from company;
      if tg_op = 'INSERT' then
        insert into quote_deltas (date_kind, day, country, currency, valid_until, ${measureNames})
        ${nest(cellsOf('select 1 as sign, n.* from new_rows n', 'base', 'digits'), 6)};
      elsif tg_op = 'DELETE' then
        insert into quote_deltas (date_kind, day, country, currency, valid_until, ${measureNames})
        ${nest(cellsOf('select -1 as sign, o.* from old_rows o', 'base', 'digits'), 6)};
      else
        insert into quote_deltas (date_kind, day, country, currency, valid_until, ${measureNames})
        ${nest(cellsOf(allRows, 'base', 'digits'), 6)};
      end if;
      if found and base is null then
        raise exception ${literal(companyIsMissing)} using errcode = 'TQ409';
      end if;
      return null;
    end $$
  `)
  await run(`create trigger append_inserts after insert on quotes referencing new table as new_rows
    for each statement execute function append_quote_deltas()`)
  await run(`create trigger append_updates after update on quotes
    referencing old table as old_rows new table as new_rows
    for each statement execute function append_quote_deltas()`)
  await run(`create trigger append_deletes after delete on quotes referencing old table as old_rows
    for each statement execute function append_quote_deltas()`)

  // TRUNCATE fires no trigger for rows, and also removes rows that its transaction cannot see. So
  // the summary is truncated too.
  await run(`
    create function empty_quote_summary() returns trigger
    language plpgsql security definer set search_path = public, pg_temp as $$
    begin
      truncate quote_deltas, quote_figures, quote_validity, quote_summary;
      insert into quote_summary default values;
      return null;
    end $$
  `)
  await run(`create trigger empty_summary after truncate on quotes
    for each statement execute function empty_quote_summary()`)

  await run(`
    create function fold_quote_deltas(batch integer) returns integer language plpgsql as $$
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

  // One statement deletes the deltas that it can see and reads the quotes of the same snapshot, so
  // no writer has to wait.
  await run(`
    create function rebuild_quote_summary() returns void language plpgsql as $$
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
    create function rebuild_for_company() returns trigger
    language plpgsql security definer set search_path = public, pg_temp as $$
    begin
      perform rebuild_quote_summary();
      return null;
    end $$
  `)
  await run(`create trigger rebuild_summary after insert or update of base_currency on company
    for each row execute function rebuild_for_company()`)

  await run('select rebuild_quote_summary()')

  for (const [what, comment] of comments) await run(`comment on ${what} is ${literal(comment)}`)
}

/** The message of an error. RAISE only takes a literal in one piece. */
const companyIsMissing =
  'the company is not recorded yet, and figures depend on its base currency: ' +
  'run scripts/migrate.ts first'

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`

const measureComments: [string, string][] = [
  ['drafts', 'Quotes with this status.'],
  ['sent', 'Quotes with this status, also when their validity is over: see quote_validity.'],
  ['accepted', 'Quotes with this status.'],
  ['rejected', 'Quotes with this status.'],
  ['expired', 'Quotes with this status.'],
  ['net', 'Of accepted quotes, in their currency.'],
  [
    'base_net',
    'Of accepted quotes with a rate, in the base currency, each rounded half up to its digits ' +
      'before it is summed.',
  ],
  ['unconverted', 'Accepted quotes without a rate: in net, not in base_net.'],
  ['unconverted_net', 'Net of the unconverted quotes, in their currency.'],
]

const comments: [string, string][] = [
  [
    'table quote_deltas',
    'Signed changes of figures that are not folded yet. Appended by triggers on quotes in the ' +
      'transaction of the writer; nobody else writes here.',
  ],
  ['column quote_deltas.id', 'In the order of writing, which is not that of committing.'],
  [
    'column quote_deltas.date_kind',
    'issued: by the day of issue; accepted: accepted quotes by their day of decision, else of ' +
      'issue.',
  ],
  ['column quote_deltas.day', 'The day that the quotes count on.'],
  ['column quote_deltas.country', 'Of the buyer. Empty: unknown, so that it can be part of a key.'],
  ['column quote_deltas.currency', 'Of the quotes.'],
  ['column quote_deltas.valid_until', 'Only of sent quotes: the last day on which they stand.'],
  ...measureComments.map(([name, text]): [string, string] => [
    `column quote_deltas.${name}`,
    `Change: ${text}`,
  ]),
  [
    'table quote_figures',
    'Figures by day and by month, without what is still in quote_deltas. Every quote is in ' +
      'both grains.',
  ],
  ['column quote_figures.grain', 'day or month.'],
  ['column quote_figures.date_kind', 'As in quote_deltas.'],
  ['column quote_figures.starts_on', 'The day, or the first day of the month.'],
  ['column quote_figures.country', 'As in quote_deltas.'],
  ['column quote_figures.currency', 'As in quote_deltas.'],
  ...measureComments.map(([name, text]): [string, string] => [
    `column quote_figures.${name}`,
    text,
  ]),
  [
    'table quote_validity',
    'Sent quotes by the day and month of their issue and by the day and month of the end of ' +
      'their validity: how many have expired by themselves.',
  ],
  ['column quote_validity.issued_grain', 'day or month.'],
  ['column quote_validity.valid_grain', 'day or month.'],
  ['column quote_validity.issued_from', 'The day of issue, or the first day of its month.'],
  [
    'column quote_validity.valid_from',
    'The last day on which they stand, or the first day of its month.',
  ],
  ['column quote_validity.country', 'As in quote_deltas.'],
  ['column quote_validity.quotes', 'How many.'],
  [
    'table quote_summary',
    'Where the summary stands. generation, with folded plus the count of quote_deltas, moves ' +
      'with every commit that changes a figure.',
  ],
  ['column quote_summary.the_only_row', 'True.'],
  [
    'column quote_summary.generation',
    'Another one after each rebuild, and after quotes were truncated.',
  ],
  ['column quote_summary.folded', 'How many deltas were folded in this generation.'],
  [
    'function fold_quote_deltas',
    'Moves up to so many deltas into the grains; 0: there were none, or somebody else folds ' +
      'at the moment.',
  ],
  [
    'function rebuild_quote_summary',
    'Makes the summary afresh from the quotes. Writers and readers go on meanwhile.',
  ],
]
