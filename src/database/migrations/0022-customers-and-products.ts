// Adds figures by customer and by product to the summary of the statistics, and the scope
// stats:detail that reads them. See docs/decisions/0020-statistics-by-customer-and-product.md.
import { type Kysely, sql } from 'kysely'
import {
  call,
  columnsOf,
  columnsOfTable,
  current,
  defineSummary,
  fillFromQuotes,
  firstOf,
  foldLock,
  grouped,
  isNotEmpty,
  lockedTables,
  measures,
  type SummaryDetail,
  type SummaryTable,
  tablesWith,
  unfoldedColumns,
  vacuumSoon,
} from './0018-stats-definition.ts'
import { newMeasures } from './0019-money-by-status.ts'

/** What quote_figures_of says of a quote, in the values that count for its customer. */
const customerValues = `cross join lateral (
      select coalesce(f.drafts, f.sent, f.accepted, f.rejected, f.expired) as quotes, f.accepted,
        f.base_net, f.unconverted
    ) c`
const figuresOfQuotes = (source: string) =>
  `${source} cross join quote_summary b cross join lateral ${call('quote_figures_of')} f
    ${customerValues}`
const monthAndYear = (month: string) =>
  `cross join lateral (values ('month', ${month}), ('year', ${firstOf('year', month)}))
      g (grain, starts_on)`

const customers: SummaryTable = {
  name: 'customer_figures',
  view: 'current_customer_figures',
  fromQuotes: 'customer_figures_from_quotes',
  key: ['grain', 'date_kind', 'starts_on', 'country', 'currency', 'customer_id'],
  measures: [
    { name: 'quotes', type: 'bigint', comment: 'Quotes of every status except superseded.' },
    { name: 'accepted', type: 'bigint', comment: 'Quotes with status accepted.' },
    {
      name: 'base_net',
      type: 'numeric',
      comment: 'Net of accepted quotes that have a rate, in the base currency.',
    },
    { name: 'unconverted', type: 'bigint', comment: 'Accepted quotes without a rate.' },
  ],
  years: { year: 'month' },
  ofUnfolded: {
    keys: ['g.grain', 'd.date_kind', 'g.starts_on', 'd.country', 'd.currency', 'd.customer_id'],
    join: monthAndYear('d.starts_on'),
  },
  ofChanges: (source) => ({
    keys: ['g.grain', 'f.date_kind', 'g.starts_on', 'f.country', 'f.currency', customerKey],
    from: `${figuresOfQuotes(source)} ${monthAndYear(firstOf('month', 'f.day'))}`,
  }),
}
const customerKey = 'coalesce(s.customer_id, 0)'

const issuedIn = (quote: string) => firstOf('month', `${quote}.issued_on`)
const acceptedIn = (quote: string) =>
  firstOf('month', `coalesce(${quote}.decided_on, ${quote}.issued_on)`)
/** What a line l of an accepted quote counts in the rows of product_figures. */
const valuesOfLine = (quote: string) => `cross join lateral (
        select 1 as lines, l.net, l.net * ${quote}.rate as rated_net,
          case when ${quote}.rate is null then 1 end as unrated_lines
      ) c`
/** The rows of product_figures in which a line counts. */
const rowsOfLines = (issuedMonth: string, acceptedMonth: string, country: string) =>
  `cross join lateral (
        values ('issued', ${issuedMonth}), ('accepted', ${acceptedMonth})
      ) k (date_kind, month) cross join lateral (values
        ('month', k.month, ${country}),
        ('month_total', k.month, ''),
        ('year', ${firstOf('year', 'k.month')}, ${country}),
        ('year_total', ${firstOf('year', 'k.month')}, '')
      ) g (grain, starts_on, country)`

const products: SummaryTable = {
  name: 'product_figures',
  view: 'current_product_figures',
  fromQuotes: 'product_figures_from_quotes',
  // The country comes first, so that a range of the index has the rows of one country.
  key: ['grain', 'date_kind', 'country', 'starts_on', 'currency', 'sku'],
  measures: [
    { name: 'lines', type: 'bigint', comment: 'Lines of accepted quotes.' },
    { name: 'net', type: 'numeric', comment: 'Their net in the currency of the quotes.' },
    {
      name: 'rated_net',
      type: 'numeric',
      comment: 'Net × rate of the lines whose quotes have a rate, not rounded.',
    },
    { name: 'unrated_lines', type: 'bigint', comment: 'Lines whose quotes have no rate.' },
  ],
  years: { year: 'month', year_total: 'month_total' },
  // A row has the months of both kinds of date, so writers append half as many.
  ofUnfolded: {
    keys: ['g.grain', 'k.date_kind', 'g.country', 'g.starts_on', 'd.currency', 'd.sku'],
    join: rowsOfLines('d.issued_in', 'd.accepted_in', 'd.country'),
  },
  // A single change of an accepted quote has its lines.
  ofChanges: (source) => ({
    keys: ['g.grain', 'k.date_kind', 'g.country', 'g.starts_on', 's.currency', 'l.sku'],
    from: `${source} cross join lateral unnest(s.lines) l ${valuesOfLine('s')}
      ${rowsOfLines(issuedIn('s'), acceptedIn('s'), `coalesce(s.country, '')`)}`,
  }),
  // Each row is folded into eight.
  batch: 'greatest(batch / 8, 1)',
}

/** The columns of a quote that decide where its lines count. */
const quoteColumns = ['status', 'country', 'currency', 'rate', 'issued_on', 'decided_on']
const lineKey = ['issued_in', 'accepted_in', 'country', 'currency', 'sku']
const lineColumns = columnsOfTable({ key: lineKey, measures: products.measures })

/**
 * What lines of accepted quotes contribute: the one definition of the figures by product. `source`
 * names the quotes q and the lines l.
 */
const linesOf = (source: string, sign = '1') => `
        select * from (
          select ${issuedIn('q')} as issued_in, ${acceptedIn('q')} as accepted_in,
            coalesce(q.country, '') as country, q.currency, coalesce(l.sku, '') as sku,
            sum(${sign}) as lines, sum(${sign} * l.net) as net,
            coalesce(sum(${sign} * l.net * q.rate), 0) as rated_net,
            coalesce(sum(${sign}) filter (where q.rate is null), 0) as unrated_lines
          from ${source}
          group by 1, 2, 3, 4, 5
        ) cells where ${isNotEmpty(products.measures)}`
const appendLines = (source: string, sign?: string) => `
        insert into product_figures_unfolded (${lineColumns})
        ${linesOf(source, sign).trim()};`

// "offset 0" keeps these joins nested loops over an index. A plan with a hash join that was cached
// for a large statement would read the whole table for each small one.
const itsLines = `cross join lateral (
            select sku, net from quote_lines where quote_id = q.id offset 0
          ) l`
const itsQuote = `cross join lateral (
            select ${quoteColumns.join(', ')} from quotes where id = l.quote_id offset 0
          ) q`
const oldAndNew = (from: string, oldRow: string, newRow: string) => `(
            select v.* from ${from} (
              values (1, ${columnsOf(newRow, ['id', ...quoteColumns])}),
                (-1, ${columnsOf(oldRow, ['id', ...quoteColumns])})
            ) v (sign, id, ${quoteColumns.join(', ')})
            where v.status = 'accepted'`

const detail: SummaryDetail = {
  tables: [customers, products],
  changeColumns: ['customer_id'],
  appendMany: (sign) => ({
    appended_customers: `
            insert into customer_figures_unfolded (${columnsOfTable({
              key: customers.key.filter((column) => column !== 'grain'),
              measures: customers.measures,
            })})
            ${grouped(
              {
                keys: [
                  'f.date_kind',
                  firstOf('month', 'f.day'),
                  'f.country',
                  'f.currency',
                  customerKey,
                ],
                from: figuresOfQuotes('source s'),
              },
              customers.measures,
              sign,
            )}`,
  }),
  // Only changes of these columns concern the lines.
  ofUpdate: {
    column: 'lines',
    value: `case when v.status = 'accepted' and (${columnsOf('n', quoteColumns)})
            is distinct from (${columnsOf('o', quoteColumns)})
          then array(
            select row(coalesce(sku, ''), net)::accepted_line from quote_lines
            where quote_id = v.id
          ) end`,
  },
  afterUpdateOfMany: `
        if exists (select from new_rows where status = 'accepted')
          or exists (select from old_rows where status = 'accepted') then
          ${appendLines(
            `${oldAndNew(
              'new_rows n full join old_rows o on o.id = n.id cross join lateral',
              'o',
              'n',
            )}
              and (${columnsOf('n', quoteColumns)})
                is distinct from (${columnsOf('o', quoteColumns)})
          ) q ${itsLines}`,
            'q.sign',
          ).trim()}
          if found and appended = 0 then
            insert into quote_changes (sign) values (0);
          end if;
        end if;`,
  // A deleted quote is subtracted before its row is gone, by another trigger.
  afterReplicated: `
      if tg_op <> 'DELETE' and (new.status = 'accepted' or old.status = 'accepted') then
        ${appendLines(`${oldAndNew('', 'old', 'new')}) q ${itsLines}`, 'q.sign').trim()}
      end if;`,
  sources: ['quote_lines'],
}

const all = [...measures, ...newMeasures]
/** Every table of the summary. */
export const summaryTables = tablesWith(all, detail)

export async function up(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  // Writers wait until the new triggers are in place.
  await run('lock table customers, products, quotes, quote_lines in share row exclusive mode')
  await run(`select pg_advisory_xact_lock(${foldLock})`)
  // In the order of the readers. Another order could deadlock.
  await run(`lock table ${lockedTables(tablesWith(all))} in access exclusive mode`)
  // The new tables are filled from the quotes, so no change may count again when it is folded.
  // Without a company nothing is folded, and recording it rebuilds the summary.
  await run(`do $$ begin while fold_quote_changes(20000) > 0 loop end loop; end $$`)
  await run('alter table quote_changes add column customer_id bigint')
  await addLinesToChanges(db)
  await createTables(db)
  await defineSources(db)
  await defineDetail(db)
  await defineLineTriggers(db)
  await defineNameTriggers(db)
  await run(`
    create view breakdown_sources as
    select from customers, quotes, quote_lines where false
  `)
  await run(`
    alter table api_keys drop constraint api_keys_scopes_check,
      add constraint api_keys_scopes_check check (
        cardinality(scopes) > 0
        and scopes <@ array['search:read', 'stats:read', 'stats:detail']
      )
  `)
  for (const [what, comment] of comments)
    await sql`comment on ${sql.raw(what)} is ${sql.lit(comment)}`.execute(db)
  await run(`set local work_mem = '64MB'`)
  for (const table of [customers, products]) await run(`${fillFromQuotes(table)}`)
  await run('reset work_mem')
}

/** Creates or replaces what depends on the columns of the tables. */
export async function defineDetail(db: Kysely<unknown>): Promise<void> {
  for (const table of [customers, products])
    await sql.raw(`create or replace view ${table.view} as ${current(table)}`).execute(db)
  await defineSummary(db, all, detail)
  await defineLineFunctions(db)
}

/** Adds the lines of accepted quotes to the single changes of quotes. */
export async function addLinesToChanges(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  await run('create type accepted_line as (sku text, net numeric)')
  await run('alter table quote_changes add column lines accepted_line[]')
  await run(`
    create or replace view unfolded_changes as select d.* from quote_changes d
    where (d.xid >= (select next_unfolded_xid())
      or d.xid = any ((select late_unfolded_xids())::xid8[]))
  `)
  await run(`comment on type accepted_line is 'What a line of an accepted quote contributes.'`)
  for (const relation of ['quote_changes', 'unfolded_changes'])
    await sql`
      comment on column ${sql.table(relation)}.lines
      is 'The lines of an accepted quote, if the change concerns them. Otherwise null.'
    `.execute(db)
}

/**
 * Pages have room for new versions of their rows, and no index has a measure, so that updates are
 * heap-only (HOT). Years and totals are few, and have pages of their own.
 */
async function createTables(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  const text = (name: string) => `${name} text collate "C" not null`
  const grain = (values: string[]) =>
    `${text('grain')} check (grain in (${values.map((value) => `'${value}'`).join(', ')}))`
  const dateKind = `${text('date_kind')} check (date_kind in ('issued', 'accepted'))`
  const createTable = ({ name, key, measures: list }: SummaryTable, columns: string[]) =>
    run(`
      create table ${name} (
        ${[...columns, ...list.map(({ name, type }) => `${name} ${type} not null`)].join(', ')},
        primary key (${key.join(', ')})
      ) partition by list (grain)
    `)
  const createPartition = (name: string, grains: string[], table: string, fillfactor: number) =>
    run(`
      create table ${name} partition of ${table}
      for values in (${grains.map((value) => `'${value}'`).join(', ')})
      with (fillfactor = ${fillfactor})
    `)

  await createTable(customers, [
    grain(['month', 'year']),
    dateKind,
    'starts_on date not null',
    text('country'),
    text('currency'),
    'customer_id bigint not null',
  ])
  await createPartition('customer_figures_months', ['month'], 'customer_figures', 80)
  await createPartition('customer_figures_years', ['year'], 'customer_figures', 70)
  await createTable(products, [
    grain(['month', 'month_total', 'year', 'year_total']),
    dateKind,
    text('country'),
    'starts_on date not null',
    text('currency'),
    text('sku'),
  ])
  await createPartition('product_figures_months', ['month'], 'product_figures', 80)
  const totals = ['month_total', 'year', 'year_total']
  await createPartition('product_figures_totals', totals, 'product_figures', 70)

  const customerKeys = [
    dateKind,
    'starts_on date not null',
    text('country'),
    text('currency'),
    'customer_id bigint not null',
  ]
  const lineKeys = [
    'issued_in date not null',
    'accepted_in date not null',
    text('country'),
    text('currency'),
    text('sku'),
  ]
  for (const [table, keys] of [
    [customers, customerKeys],
    [products, lineKeys],
  ] as const) {
    await run(`
      create table ${table.name}_unfolded (${unfoldedColumns(table, keys.join(', '))})
      with (${vacuumSoon})
    `)
    await run(`create index ${table.name}_unfolded_xid on ${table.name}_unfolded (xid)`)
  }
}

/** Defines the functions that compute figures from the quotes themselves. */
async function defineSources(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  const columns = {
    id: 'bigint',
    customer_id: 'bigint',
    status: 'text',
    country: 'text',
    currency: 'text',
    rate: 'numeric',
    issued_on: 'date',
    valid_until: 'date',
    decided_on: 'date',
    net: 'numeric',
  }
  await run('drop function quotes_between(date, date)')
  await run(`
    create function quotes_between(first_day date, last_day date)
    returns table (${Object.entries(columns)
      .map(([name, type]) => `${name} ${type}`)
      .join(', ')})
    language sql stable
    as $$
      select ${columnsOf('q', Object.keys(columns))}
      from quotes q
      where q.issued_on between first_day and last_day
        or q.status = 'accepted'
          and coalesce(q.decided_on, q.issued_on) between first_day and last_day
    $$
  `)
  const customerFigures = customers.ofChanges?.('quotes_between(first_day, last_day) s')
  if (!customerFigures) throw new Error('customer_figures has no contributions')
  await run(`
    create function customer_figures_from_quotes(first_day date, last_day date)
    returns table (grain text, date_kind text, starts_on date, country text, currency text,
      customer_id bigint, ${columnsWithTypes(customers)})
    language sql stable
    as $$ ${grouped(customerFigures, customers.measures, '')} $$
  `)
  const acceptedLines = `quotes_between(first_day, last_day) q
          join quote_lines l on l.quote_id = q.id
          where q.status = 'accepted'`
  await run(`
    create function product_figures_from_quotes(first_day date, last_day date)
    returns table (grain text, date_kind text, country text, starts_on date, currency text,
      sku text, ${columnsWithTypes(products)})
    language sql stable
    as $$
      with lines as materialized (${linesOf(acceptedLines)})
      select ${products.ofUnfolded?.keys.join(', ')},
        ${products.measures.map(({ name }) => `sum(d.${name})`).join(', ')}
      from lines d ${products.ofUnfolded?.join}
      group by 1, 2, 3, 4, 5, 6
    $$
  `)
  await defineDayFigures(db)
  for (const name of ['customer_figures_between', 'product_figures_between'])
    await run(`revoke execute on function ${name}(text, date, date) from public`)
}

const columnsWithTypes = ({ measures: list }: SummaryTable) =>
  list.map(({ name, type }) => `${name} ${type}`).join(', ')

const valuesOf = ({ measures: list }: SummaryTable) =>
  list.map(({ name }) => `coalesce(c.${name}, 0)`).join(', ')

/**
 * Defines the functions that compute the figures of single days, for periods that begin or end
 * within a month. The API may not read quotes. They return a row for each quote or line: hardly two
 * have the same customer or product, and the reader adds them up anyway.
 */
export async function defineDayFigures(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  await run(`
    create or replace function customer_figures_between(kind text, first_day date, last_day date)
    returns table (country text, currency text, customer_id bigint, ${columnsWithTypes(customers)})
    language sql stable security definer set search_path = public, pg_temp
    as $$
      select f.country, f.currency, ${customerKey},
        ${valuesOf(customers)}
      from ${figuresOfQuotes('quotes_between(first_day, last_day) s')}
      where f.date_kind = kind and f.day between first_day and last_day
    $$
  `)
  await run(`
    create or replace function product_figures_between(kind text, first_day date, last_day date)
    returns table (country text, currency text, sku text, ${columnsWithTypes(products)})
    language sql stable security definer set search_path = public, pg_temp
    as $$
      select coalesce(q.country, ''), q.currency, coalesce(l.sku, ''),
        ${valuesOf(products)}
      from quotes_between(first_day, last_day) q ${itsLines} ${valuesOfLine('q')}
      where q.status = 'accepted' and case kind
          when 'issued' then q.issued_on else coalesce(q.decided_on, q.issued_on)
        end between first_day and last_day
    $$
  `)
}

const isLineTrigger = `returns trigger language plpgsql security definer
    set search_path = public, pg_temp set enable_seqscan = off`

/** Defines the functions of the triggers of lines. */
async function defineLineFunctions(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  const append = (lines: string, sign: string) =>
    appendLines(
      `${lines} join (
            select id, ${quoteColumns.join(', ')} from quotes where id = any ($1) offset 0
          ) q on q.id = l.quote_id`,
      sign,
    ).trim()
  // A quote that another transaction is about to accept must count with these lines, once. The
  // lock makes one wait for the other: the second sees what the first has committed. FOR SHARE
  // would do, but two writers of lines that then update the totals of the quote would deadlock.
  // A row that this transaction has written needs no lock: nobody else can change it. Most lines
  // are written with their quote, so this is checked first.
  // Plans are cached for the session. A nested loop that was planned for one line would take too
  // long for thousands. EXECUTE plans each statement for its own lines.
  await run(`
    create or replace function append_line_changes() ${isLineTrigger} as $$
    declare
      quote_ids bigint[];
      accepted_ids bigint[];
      appended bigint;
    begin
      if tg_op = 'INSERT' then
        quote_ids := array(select quote_id from new_rows);
      elsif tg_op = 'DELETE' then
        quote_ids := array(select quote_id from old_rows);
      else
        quote_ids := array(select quote_id from new_rows union select quote_id from old_rows);
      end if;
      if not exists (
        select from quotes where id = any (quote_ids)
        and (status = 'accepted' or xmin <> pg_current_xact_id()::xid)
      ) then
        return null;
      end if;
      perform from quotes
      where id = any (quote_ids) and xmin <> pg_current_xact_id()::xid
      order by id for no key update;
      accepted_ids := array(
        select id from quotes where id = any (quote_ids) and status = 'accepted'
      );
      if accepted_ids = '{}' then
        return null;
      end if;
      execute case tg_op
        when 'INSERT' then $insert$${append('new_rows l', '1')}$insert$
        when 'DELETE' then $delete$${append('old_rows l', '-1')}$delete$
        else $update$${append(
          `(
            select 1 as sign, quote_id, sku, net from new_rows
            union all
            select -1, quote_id, sku, net from old_rows
          ) l`,
          'l.sign',
        )}$update$
      end using accepted_ids;
      get diagnostics appended = row_count;
      if appended > 0 then
        insert into quote_changes (sign) values (0);
      end if;
      return null;
    end $$
  `)
  // Deletes instead of truncating: an exclusive lock could deadlock with a transaction that has
  // written quotes and is about to write lines. The lock on folding comes last, because folding
  // waits for the tables of the summary, which a truncate of quotes has locked and emptied.
  await run(`
    create or replace function empty_product_figures() returns trigger
    language plpgsql security definer set search_path = public, pg_temp as $$
    begin
      if exists (select from product_figures) or exists (select from product_figures_unfolded)
        or exists (select from quote_changes where lines is not null) then
        perform pg_advisory_xact_lock(${foldLock});
        delete from product_figures;
        delete from product_figures_unfolded;
        update quote_changes set lines = null where lines is not null;
        update quote_summary set generation = gen_random_uuid();
      end if;
      return null;
    end $$
  `)
}

async function defineLineTriggers(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  await run(`
    create function append_replicated_line() ${isLineTrigger} as $$
    begin
      ${appendLines(
        `(
            values (1, new.quote_id, new.sku, new.net), (-1, old.quote_id, old.sku, old.net)
          ) l (sign, quote_id, sku, net) ${itsQuote} where q.status = 'accepted'`,
        'l.sign',
      ).trim()}
      if found then
        insert into quote_changes (sign) values (0);
      end if;
      return null;
    end $$
  `)
  // The lines of a deleted quote are deleted before the triggers that follow a statement. Then
  // neither the quote nor its lines are left to read.
  await run(`
    create function subtract_lines_of_quote() ${isLineTrigger} as $$
    begin
      ${appendLines(
        `(select ${columnsOf('old', ['id', ...quoteColumns])}) q ${itsLines}`,
        '-1',
      ).trim()}
      return old;
    end $$
  `)
  await run(`
    create trigger append_inserts after insert on quote_lines referencing new table as new_rows
    for each statement execute function append_line_changes();
    create trigger append_updates after update on quote_lines
    referencing old table as old_rows new table as new_rows
    for each statement execute function append_line_changes();
    create trigger append_deletes after delete on quote_lines referencing old table as old_rows
    for each statement execute function append_line_changes();
    create trigger append_replicated after insert or update or delete on quote_lines
    for each row when (current_setting('session_replication_role') = 'replica')
    execute function append_replicated_line();
    create trigger empty_figures after truncate on quote_lines
    for each statement execute function empty_product_figures();
    create trigger subtract_lines before delete on quotes
    for each row when (old.status = 'accepted') execute function subtract_lines_of_quote();
    alter table quote_lines enable replica trigger append_replicated,
      enable always trigger empty_figures;
    alter table quotes enable always trigger subtract_lines
  `)
}

/** Answers contain names. A row in quote_changes tells the caches that one has changed. */
async function defineNameTriggers(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  const isTrigger = `returns trigger language plpgsql security definer
    set search_path = public, pg_temp`
  await run(`
    create function note_customer_names() ${isTrigger} as $$
    begin
      insert into quote_changes (sign) select 0 where exists (
        select from new_rows n full join old_rows o on o.id = n.id
        where n.name is distinct from o.name
      );
      return null;
    end $$
  `)
  await run(`
    create function note_product_names() ${isTrigger} as $$
    begin
      if tg_op = 'INSERT' then
        insert into quote_changes (sign) select 0 where exists (select from new_rows);
      elsif tg_op = 'DELETE' then
        insert into quote_changes (sign) select 0 where exists (select from old_rows);
      else
        insert into quote_changes (sign) select 0 where exists (
          select from new_rows n full join old_rows o on o.id = n.id
          where (n.sku, n.name) is distinct from (o.sku, o.name)
        );
      end if;
      return null;
    end $$
  `)
  await run(`
    create function note_changed_name() ${isTrigger} as $$
    begin
      insert into quote_changes (sign) values (0);
      return null;
    end $$
  `)
  const isReplica = `current_setting('session_replication_role') = 'replica'`
  await run(`
    create trigger note_names after update on customers
    referencing old table as old_rows new table as new_rows
    for each statement execute function note_customer_names();
    create trigger note_replicated_names after update on customers
    for each row when (${isReplica} and new.name <> old.name)
    execute function note_changed_name();
    create trigger note_inserted_names after insert on products referencing new table as new_rows
    for each statement execute function note_product_names();
    create trigger note_updated_names after update on products
    referencing old table as old_rows new table as new_rows
    for each statement execute function note_product_names();
    create trigger note_deleted_names after delete on products referencing old table as old_rows
    for each statement execute function note_product_names();
    create trigger note_truncated_names after truncate on products
    for each statement execute function note_changed_name();
    create trigger note_replicated_products after insert or delete on products
    for each row when (${isReplica}) execute function note_changed_name();
    create trigger note_replicated_names after update on products
    for each row when (${isReplica} and (new.sku <> old.sku or new.name <> old.name))
    execute function note_changed_name();
    alter table customers enable replica trigger note_replicated_names;
    alter table products enable replica trigger note_replicated_products,
      enable replica trigger note_replicated_names, enable always trigger note_truncated_names
  `)
}

const keyComments = {
  starts_on: 'The first day of the month or year.',
  country: 'Of the buyer. Empty: unknown, so that it can be part of a key.',
  currency: 'Of the quotes.',
}
const dateKindComment =
  'issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.'
const customerIdComment = 'The customer; 0: none is known.'
const skuComment = 'As written in the lines; empty: lines without one.'
const transactionComment = 'The transaction that appended the row.'
const isOrTotal = 'month or year by country; month_total and year_total: over all countries.'
const commentsOf = (table: string, columns: Record<string, string>): [string, string][] =>
  Object.entries(columns).map(([column, text]) => [`column ${table}.${column}`, text])
const measureComments = ({ measures: list }: SummaryTable, prefix = '') =>
  Object.fromEntries(list.map(({ name, comment }) => [name, prefix + comment]))

const comments: [what: string, text: string][] = [
  ...['quote_changes', 'unfolded_changes'].map((relation): [string, string] => [
    `column ${relation}.customer_id`,
    'customer_id of the quote.',
  ]),
  [
    'column quote_changes.sign',
    '1: the quote counts from now on; -1: it counted before; 0: many quotes, lines or names ' +
      'changed.',
  ],
  ['table customer_figures', 'Figures by customer and month or year, without what is not folded.'],
  ['table customer_figures_months', 'The rows of customer_figures that are months.'],
  ['table customer_figures_years', 'The rows of customer_figures that are years.'],
  ['table customer_figures_unfolded', 'Changes of months by statements with many quotes.'],
  [
    'view current_customer_figures',
    'Figures by customer of all committed quotes. A reader adds up the rows of a key.',
  ],
  ...['customer_figures', 'current_customer_figures'].flatMap((table) =>
    commentsOf(table, {
      grain: 'month or year.',
      date_kind: dateKindComment,
      ...keyComments,
      customer_id: customerIdComment,
    }),
  ),
  ...commentsOf('customer_figures', measureComments(customers)),
  ...commentsOf('current_customer_figures', measureComments(customers, 'Part of: ')),
  ...commentsOf('customer_figures_unfolded', {
    xid: transactionComment,
    date_kind: dateKindComment,
    ...keyComments,
    starts_on: 'The first day of the month.',
    customer_id: customerIdComment,
    ...measureComments(customers, 'Change: '),
  }),
  ['table product_figures', 'Figures by SKU and month or year, without what is not folded.'],
  ['table product_figures_months', 'The rows of product_figures that are months by country.'],
  ['table product_figures_totals', 'The rows of product_figures that are years and totals.'],
  [
    'table product_figures_unfolded',
    'Changes of the lines of accepted quotes. A row counts by both of its months.',
  ],
  [
    'view current_product_figures',
    'Figures by SKU of the lines of all accepted quotes. A reader adds up the rows of a key.',
  ],
  ...['product_figures', 'current_product_figures'].flatMap((table) =>
    commentsOf(table, {
      grain: isOrTotal,
      date_kind: dateKindComment,
      ...keyComments,
      sku: skuComment,
    }),
  ),
  ...commentsOf('product_figures', measureComments(products)),
  ...commentsOf('current_product_figures', measureComments(products, 'Part of: ')),
  ...commentsOf('product_figures_unfolded', {
    xid: transactionComment,
    issued_in: 'The first day of the month of issue.',
    accepted_in: 'The first day of the month of decision, or of issue if that is not known.',
    country: keyComments.country,
    currency: keyComments.currency,
    sku: skuComment,
    ...measureComments(products, 'Change: '),
  }),
  [
    'view breakdown_sources',
    'Selects nothing. Whoever locks it locks the tables of which figures by customer and product ' +
      'read single days and names.',
  ],
  ['function quotes_between(date, date)', 'The quotes that count on a day between two days.'],
  [
    'function customer_figures_from_quotes(date, date)',
    'customer_figures computed from the quotes that count between two days.',
  ],
  [
    'function product_figures_from_quotes(date, date)',
    'product_figures computed from the lines of the quotes that count between two days.',
  ],
  [
    'function customer_figures_between(text, date, date)',
    'Figures by customer of single days, by one kind of date.',
  ],
  [
    'function product_figures_between(text, date, date)',
    'Figures by SKU of single days, by one kind of date.',
  ],
  [
    'function append_line_changes()',
    'Appends what a statement changes in the lines of accepted quotes. Locks the quotes, so that ' +
      'nobody changes their status before this transaction ends.',
  ],
  [
    'function append_replicated_line()',
    'Appends what logical replication changes, which fires no triggers for statements.',
  ],
  [
    'function subtract_lines_of_quote()',
    'Subtracts the lines of an accepted quote before they are deleted with it.',
  ],
  ['function empty_product_figures()', 'Empties the figures by product when lines are truncated.'],
  [
    'function note_customer_names()',
    'Changes the version of the summary if a name of a customer changes.',
  ],
  [
    'function note_product_names()',
    'Changes the version of the summary if the name of a SKU may change.',
  ],
  ['function note_changed_name()', 'Changes the version of the summary.'],
]
