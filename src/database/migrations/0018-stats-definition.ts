// Defines once what a quote contributes to the statistics: the triggers, the rebuild and the
// verification use the same functions. Views add the changes that are not folded yet to the
// summary. An index finds these changes, so that nobody reads the dead rows of folded ones.
import { type Kysely, sql } from 'kysely'

/**
 * One value of a quote that the summary adds up. `ofQuote` is SQL over the parameters of
 * quote_figures_of; null contributes nothing.
 */
export type Measure = {
  name: string
  type: 'bigint' | 'numeric'
  ofQuote: string
  comment: string
}

const ofStatus = (status: string, value: string) =>
  `case when quote_status = '${status}' then ${value} end`

/** The net in the base currency: null without a rate. */
export const netInBase =
  'net_in_base(quote_net, quote_currency, quote_rate, base_currency, base_digits)'

export const measures: Measure[] = [
  {
    name: 'drafts',
    type: 'bigint',
    ofQuote: ofStatus('draft', '1'),
    comment: 'Quotes with status draft.',
  },
  {
    name: 'sent',
    type: 'bigint',
    ofQuote: ofStatus('sent', '1'),
    comment: 'Quotes with status sent, also if their validity is over: see quote_validity.',
  },
  {
    name: 'accepted',
    type: 'bigint',
    ofQuote: ofStatus('accepted', '1'),
    comment: 'Quotes with status accepted.',
  },
  {
    name: 'rejected',
    type: 'bigint',
    ofQuote: ofStatus('rejected', '1'),
    comment: 'Quotes with status rejected.',
  },
  {
    name: 'expired',
    type: 'bigint',
    ofQuote: ofStatus('expired', '1'),
    comment: 'Quotes with status expired.',
  },
  {
    name: 'net',
    type: 'numeric',
    ofQuote: ofStatus('accepted', 'quote_net'),
    comment: 'Net of accepted quotes in their currency.',
  },
  {
    name: 'base_net',
    type: 'numeric',
    ofQuote: ofStatus('accepted', netInBase),
    comment: 'Net of accepted quotes that have a rate, in the base currency.',
  },
  {
    name: 'unconverted',
    type: 'bigint',
    ofQuote: `case when quote_status = 'accepted' and ${netInBase} is null then 1 end`,
    comment: 'Accepted quotes without a rate: part of net, not of base_net.',
  },
  {
    name: 'unconverted_net',
    type: 'numeric',
    ofQuote: `case when quote_status = 'accepted' and ${netInBase} is null then quote_net end`,
    comment: 'Net of the unconverted quotes in their currency.',
  },
]

/** The columns of a quote that the statistics depend on, with the types of their parameters. */
const quoteColumns = {
  status: 'text',
  country: 'text',
  currency: 'text',
  rate: 'numeric',
  issued_on: 'date',
  valid_until: 'date',
  decided_on: 'date',
  net: 'numeric',
}
const columnNames = Object.keys(quoteColumns)

/** Selects those columns from transition tables or records: `columnsOf('new')`. */
export const columnsOf = (table: string, columns = columnNames) =>
  columns.map((name) => `${table}.${name}`).join(', ')

/** What the quotes of a source contribute, without sums: `c` has the measures. */
type Contributions = { keys: string[]; from: string }

/** A table of the summary. The table `<name>_unfolded` has what is not folded yet. */
export type SummaryTable = {
  name: string
  /** The view that adds both. */
  view: string
  /** The function that computes the rows between two days from the quotes. */
  fromQuotes: string
  key: string[]
  measures: Omit<Measure, 'ofQuote'>[]
  /** The grains of years, and the grain of months that each one adds up. */
  years: Record<string, string>
  /** The grains whose rows are copied into a new edition now and then. Others have edition 0. */
  editions?: string[]
  /** The partitions of the unfolded table; without it, it has none. */
  partitions?: string[]
  /** SQL that makes rows of this table from an unfolded row `d`; without it, it is such a row. */
  ofUnfolded?: { keys: string[]; join: string }
  /** What the single changes of a source contribute, which must be named s. */
  ofChanges?: (source: string) => Contributions
  /** How many unfolded rows are folded at once, as SQL. Default: `batch`. */
  batch?: string
}

/** What a later migration adds to the summary. */
export type SummaryDetail = {
  tables: SummaryTable[]
  /** Columns of quote_changes besides those that the figures depend on. */
  changeColumns: string[]
  /** SQL that appends the grouped rows of a statement with many quotes: with-queries by name. */
  appendMany: (sign: string) => Record<string, string>
  /** A column of single changes for which updates have a value: SQL over v, o and n. */
  ofUpdate?: { column: string; value: string }
  /**
   * SQL in the trigger of updates of many quotes, after their groups are appended. `appended` is 0
   * if these cancel each other out: then nothing has changed the data version yet.
   */
  afterUpdateOfMany: string
  /** SQL in the trigger of replicated inserts, updates and deletes. */
  afterReplicated: string
  /** The tables that `fromQuotes` reads besides quotes. */
  sources: string[]
}

const validityMeasures: Measure[] = [
  { name: 'quotes', type: 'bigint', ofQuote: '1', comment: 'Number of sent quotes.' },
  {
    name: 'base_net',
    type: 'numeric',
    ofQuote: netInBase,
    comment: 'Net of the quotes that have a rate, in the base currency.',
  },
]
const validity: SummaryTable = {
  name: 'quote_validity',
  view: 'current_validity',
  fromQuotes: 'validity_from_quotes',
  key: ['grain', 'valid_until', 'starts_on', 'country', 'currency'],
  measures: validityMeasures,
  years: {},
  ofChanges: (source) => validityOf(source),
}
export const isGrainOfValidity = `grain in ('day', 'month', 'month_by_month')`
const figuresKeys = ['grain', 'date_kind', 'starts_on', 'country', 'currency']
/** The grains of which most rows change in each fold. Every answer reads them. */
export const grainsInEditions = ['month_total', 'year']
const figuresWith = (all: Measure[], hasEditions = false): SummaryTable => ({
  name: 'quote_figures',
  view: 'current_figures',
  fromQuotes: 'figures_from_quotes',
  key: figuresKeys,
  measures: all,
  years: { year: 'month' },
  ...(hasEditions ? { editions: grainsInEditions } : {}),
  partitions: ['quote_figures_unfolded_days', 'quote_figures_unfolded_totals'],
  ofChanges: (source) => figuresOf(source),
})

const names = (list: { name: string }[]) => list.map(({ name }) => name)
export const columnsOfTable = ({
  key,
  measures: list,
}: Pick<SummaryTable, 'key' | 'measures'>): string => [...key, ...names(list)].join(', ')
const parameters = [
  ...Object.entries(quoteColumns).map(([name, type]) => `quote_${name} ${type}`),
  'base_currency text',
  'base_digits integer',
].join(', ')
/** Calls a function of a quote for the rows of `s`. `b` is the row of quote_summary. */
export const call = (name: string) => `${name}(${columnsOf('s')}, b.base_currency, b.base_digits)`
/** The type of a measure of a single quote. */
const ofOneQuote = { bigint: 'integer', numeric: 'numeric' }

// Sums of integers are much cheaper than sums of bigints, which PostgreSQL adds as numeric. The
// filter keeps it from creating the state of a sum that has nothing to add.
export const sums = (list: SummaryTable['measures'], sign: string) =>
  list
    .map(({ name, type }) =>
      type === 'bigint'
        ? `coalesce(sum(${sign}c.${name}), 0) as ${name}`
        : `coalesce(sum(${sign}c.${name}) filter (where c.${name} is not null), 0) as ${name}`,
    )
    .join(',\n      ')
export const isNotEmpty = (list: SummaryTable['measures']) =>
  list.map(({ name }) => `${name} <> 0`).join(' or ')

export const firstOf = (unit: 'month' | 'year', day: string) =>
  `date_trunc('${unit}', ${day}::timestamp)::date`
const contributions = (source: string) =>
  `${source} cross join quote_summary b cross join lateral ${call('quote_figures_of')} c`
/** Every figure counts in five rows. Days and months have another row over all countries. */
const grainsOf = (figures: string) => `(values
      ('day', ${figures}.day, ${figures}.country),
      ('day_total', ${figures}.day, ''),
      ('month', ${firstOf('month', `${figures}.day`)}, ${figures}.country),
      ('month_total', ${firstOf('month', `${figures}.day`)}, ''),
      ('year', ${firstOf('year', `${figures}.day`)}, ${figures}.country)
    ) g (grain, starts_on, country)`
const figuresOf = (source: string): Contributions => ({
  keys: ['g.grain', 'c.date_kind', 'g.starts_on', 'g.country', 'c.currency'],
  from: `${contributions(source)} cross join lateral ${grainsOf('c')}`,
})
/** SQL for the last day of the month of a day. Infinity stays as it is. */
export const lastOfMonth = (day: string) =>
  `(date_trunc('month', ${day}::timestamp) + interval '1 month - 1 day')::date`
/**
 * By last valid day, and the months of issue also by last valid month: a reader adds up all quotes
 * that are valid from a day on, which are fewer rows by month.
 */
const validityOf = (source: string): Contributions => ({
  keys: ['g.grain', 'g.valid_until', 'g.starts_on', 'c.country', 'c.currency'],
  from: `${source} cross join quote_summary b cross join lateral ${call('quote_validity_of')} c
    cross join lateral (values
      ('day', c.issued_on, c.valid_until),
      ('month', ${firstOf('month', 'c.issued_on')}, c.valid_until),
      ('month_by_month', ${firstOf('month', 'c.issued_on')}, ${lastOfMonth('c.valid_until')})
    ) g (grain, starts_on, valid_until)`,
})

/** Groups contributions into rows of the summary. */
export const grouped = (
  { keys, from }: Contributions,
  list: SummaryTable['measures'],
  sign: string,
) => `
  select * from (
    select ${keys.join(', ')},
      ${sums(list, sign)}
    from ${from}
    group by ${keys.map((_, index) => index + 1).join(', ')}
  ) cells where ${isNotEmpty(list)}`

/**
 * Groups many quotes into rows of figures: first into days, then days into months, then months into
 * years. Each quote would have to be added five times otherwise.
 */
const figuresByStages = (source: string, { measures: list }: SummaryTable, sign: string) => {
  const sumsOfRows = names(list)
    .map((name) => `sum(${name}) as ${name}`)
    .join(', ')
  const isSumNotEmpty = names(list)
    .map((name) => `sum(${name}) <> 0`)
    .join(' or ')
  const columns = columnsOfTable({ key: figuresKeys, measures: list })
  return `
    days as materialized (
      select 'day' as grain, c.date_kind, c.day as starts_on, c.country, c.currency,
        ${sums(list, sign)}
      from ${source} s cross join quote_summary b cross join lateral ${call('quote_figures_of')} c
      group by 2, 3, 4, 5
    ), months as materialized (
      select 'month' as grain, date_kind, ${firstOf('month', 'starts_on')} as starts_on, country,
        currency, ${sumsOfRows}
      from days group by 2, 3, 4, 5
    ), figures as (
      select ${columns} from days where ${isNotEmpty(list)}
      union all
      select 'day_total', date_kind, starts_on, '', currency, ${sumsOfRows}
      from days group by 2, 3, 5 having ${isSumNotEmpty}
      union all
      select ${columns} from months where ${isNotEmpty(list)}
      union all
      select 'month_total', date_kind, starts_on, '', currency, ${sumsOfRows}
      from months group by 2, 3, 5 having ${isSumNotEmpty}
      union all
      select 'year', date_kind, ${firstOf('year', 'starts_on')}, country, currency, ${sumsOfRows}
      from months group by 2, 3, 4, 5 having ${isSumNotEmpty}
    )`
}

/** Statements that change more quotes than this append grouped rows instead of single changes. */
const maxSingleChanges = 200
/** SQL: whether to append groups. They need the base currency, which the company has. */
const hasManyIn = (rows: string) => `(
          exists (select from ${rows} offset ${maxSingleChanges})
          and exists (select from quote_summary where base_currency is not null)
        )`
const hasMany = {
  insert: hasManyIn('new_rows'),
  delete: hasManyIn('old_rows'),
  update: hasManyIn('new_rows'),
}

/** The columns of the rows of a transition table that are changes of quotes, with their sign. */
function changesIn(columns: string[], ofUpdate?: SummaryDetail['ofUpdate']) {
  const newQuotes = `select 1 as sign, ${columnsOf('n', columns)} from new_rows n`
  const oldQuotes = `select -1 as sign, ${columnsOf('o', columns)} from old_rows o`
  return {
    insert: { all: newQuotes, changed: `${newQuotes} where status <> 'superseded'` },
    delete: { all: oldQuotes, changed: `${oldQuotes} where status <> 'superseded'` },
    // The old and the new state of the quotes whose statistics the update changes.
    update: {
      all: `${newQuotes} union all ${oldQuotes}`,
      changed: `select v.sign, ${columnsOf('v', columns)}${ofUpdate ? `, ${ofUpdate.value}` : ''}
          from new_rows n full join old_rows o on o.id = n.id
          cross join lateral (
            values (1, n.id, ${columnsOf('n', columns)}), (-1, o.id, ${columnsOf('o', columns)})
          ) v (sign, id, ${columns.join(', ')})
          where (${columnsOf('n', columns)}) is distinct from (${columnsOf('o', columns)})
            and v.status <> 'superseded'`,
    },
  }
}

/**
 * SQL that groups many changes, so that readers do not add up thousands of them. The caller
 * replaces `changes_of_statement` by a query.
 */
const appendGroups = (figures: SummaryTable, detail: SummaryDetail | undefined) => {
  const more = Object.entries(detail?.appendMany(signOfChange) ?? {})
  const appended = ['appended_figures', 'appended_validity', ...more.map(([name]) => name)]
  return `
        with source as materialized (changes_of_statement),
        ${figuresByStages('source', figures, signOfChange).trim()}, appended_figures as (
          insert into quote_figures_unfolded (${columnsOfTable(figures)})
          select ${columnsOfTable(figures)} from figures
          returning 1
        ), appended_validity as (
          insert into quote_validity_unfolded (${columnsOfTable(validity)})
          ${grouped(validityOf('source s'), validityMeasures, signOfChange)}
          returning 1
        )${more.map(([name, insert]) => `, ${name} as (${insert} returning 1)`).join('')}
        insert into quote_changes (sign)
        select 0
        where ${appended.map((name) => `exists (select from ${name})`).join(' or ')}`
}
const signOfChange = 's.sign * '

export const foldLock = `hashtextextended('trade-quoting-service fold', 0)`

const unfoldedTableOf = ({ name }: SummaryTable) => `${name}_unfolded`

/** The tables of the summary in the one order in which every program locks them. */
export const lockedTables = (tables: SummaryTable[]): string =>
  [
    'quote_summary',
    'quote_changes',
    ...tables.flatMap((table) => [table.name, unfoldedTableOf(table)]),
  ].join(', ')

/** Rows that were committed after the last fold. The index on xid skips those folded before. */
export const isUnfolded = `(d.xid >= (select next_unfolded_xid())
      or d.xid = any ((select late_unfolded_xids())::xid8[]))`
const unfolded = (table: string) => `${table} d where ${isUnfolded}`

/** SQL that makes rows of a table from unfolded rows, which are named d. */
const rowsOfUnfolded = ({ key, measures: list, ofUnfolded }: SummaryTable, source: string) => `
          select ${(ofUnfolded?.keys ?? key.map((column) => `d.${column}`)).join(', ')},
            ${names(list)
              .map((name) => `d.${name}`)
              .join(', ')}
          from ${source} ${ofUnfolded?.join ?? ''}`

/**
 * Every row that a snapshot sees is in the current edition. The condition only keeps the index from
 * visiting the dead rows of earlier ones.
 */
const isInCurrentEdition =
  'edition = any ((select array[0, edition] from quote_summary)::integer[])'
/** SQL for the columns and the values of rows that are inserted, besides those of the table. */
const editionOf = ({ editions }: SummaryTable) =>
  editions
    ? {
        column: ', edition',
        value: `, case when grain in (${editions.map(literal).join(', ')})
          then (select edition from quote_summary) else 0 end`,
      }
    : { column: '', value: '' }

/**
 * SQL that selects the folded rows of a table, its unfolded rows and the single changes. Unfolded
 * rows with the key of the table are found by their key: coalesce() keeps PostgreSQL from reading
 * all unfolded rows by their transactions.
 */
export function current(table: SummaryTable): string {
  const changes = table.ofChanges?.('unfolded_changes s')
  return `${groupedRows(table)} ${changes ? `union all ${currentChanges(table, changes)}` : ''}`
}
const groupedRows = (table: SummaryTable) => `
    select ${columnsOfTable(table)} from ${table.name}
    ${table.editions ? `where ${isInCurrentEdition}` : ''}
    union all
    ${rowsOfUnfolded(table, `${unfoldedTableOf(table)} d`)}
    where ${table.ofUnfolded ? isUnfolded : `coalesce(${isUnfolded}, false)`}`
const currentChanges = ({ measures: list }: SummaryTable, { keys, from }: Contributions) => `
    select ${keys.join(', ')},
      ${names(list)
        .map((name) => `coalesce(s.sign * c.${name}, 0) as ${name}`)
        .join(', ')}
    from ${from}`

/** Deletes at most so many unfolded rows of a table and returns them. */
const takeBatch = (table: string, limit = 'batch') => `delete from ${table} where ctid = any (array(
          select d.ctid from ${unfolded(table)} limit ${limit}
        )) returning *`

/** SQL that moves the unfolded rows of a table into it, and finds the rows that became empty. */
function fold(table: SummaryTable): string {
  const { name, key, measures: list, ofChanges, batch } = table
  const partitions = table.partitions ?? [unfoldedTableOf(table)]
  const keys = key.join(', ')
  const edition = editionOf(table)
  const rows = [rowsOfUnfolded(table, `moved_${name} d`)]
  if (ofChanges) rows.push(grouped(ofChanges('moved_changes s'), list, 's.sign * '))
  return `
      ${partitions.map((part) => `moved_from_${part} as (${takeBatch(part, batch)})`).join(', ')},
      moved_${name} as (
        ${partitions.map((part) => `select * from moved_from_${part}`).join(' union all ')}
      ), folded_${name} as (
        insert into ${name} as f (${columnsOfTable(table)}${edition.column})
        select ${keys}, ${names(list)
          .map((column) => `sum(${column})`)
          .join(', ')}${edition.value}
        from (${rows.join(' union all ')}
        ) m
        group by ${keys}
        order by ${keys}
        on conflict (${keys}${edition.column}) do update set
          ${names(list)
            .map((column) => `${column} = f.${column} + excluded.${column}`)
            .join(', ')}
        returning f as cell, ${names(list)
          .map((column) => `f.${column} = 0`)
          .join(' and ')}
          as is_empty
      )`
}

const removeEmpty = ({ name, key, editions }: SummaryTable) => {
  const columns = editions ? [...key, 'edition'] : key
  return `
      delete from ${name} f using unnest(empty_${name}) e
      where ${columns.map((column) => `f.${column} = e.${column}`).join(' and ')};`
}

/** The tables of the summary. */
export const tablesWith = (
  list: Measure[],
  detail?: SummaryDetail,
  hasEditions = false,
): SummaryTable[] => [figuresWith(list, hasEditions), validity, ...(detail?.tables ?? [])]

/** Creates or replaces everything that depends on the measures and on the tables. */
export async function defineSummary(
  db: Kysely<unknown>,
  list: Measure[],
  detail?: SummaryDetail,
): Promise<void> {
  const hasEditions = await hasColumn(db, 'quote_summary', 'edition')
  const tables = tablesWith(list, detail, hasEditions)
  await defineFigures(db, list, hasEditions)
  await defineAppend(db, list, detail)
  await defineFold(db, tables)
  await defineVerification(db, tables, detail?.sources ?? [])
  await defineRebuild(db, tables, detail?.sources ?? [])
  for (const [what, text] of functionComments(list))
    await sql.raw(`comment on ${what} is ${literal(text)}`).execute(db)
}

/** Returns whether the table has the column already. Later migrations add columns. */
async function hasColumn(db: Kysely<unknown>, table: string, column: string): Promise<boolean> {
  const { rows } = await sql`
    select from pg_attribute where attrelid = ${table}::regclass and attname = ${column}
  `.execute(db)
  return rows.length > 0
}

/** Defines what a quote contributes, and the view and the function that add it up. */
async function defineFigures(
  db: Kysely<unknown>,
  list: Measure[],
  hasEditions: boolean,
): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  const figures = figuresWith(list, hasEditions)
  await run(`
    create or replace function quote_figures_of(${parameters})
    returns table (date_kind text, day date, country text, currency text,
      ${list.map(({ name, type }) => `${name} ${ofOneQuote[type]}`).join(', ')})
    language sql immutable parallel safe
    as $$
      select kind.date_kind, kind.day, coalesce(quote_country, ''), quote_currency,
        ${list
          .map(({ name, type, ofQuote }) => `(${ofQuote})::${ofOneQuote[type]} as ${name}`)
          .join(',\n        ')}
      from (values
        ('issued', quote_issued_on),
        ('accepted', case when quote_status = 'accepted'
          then coalesce(quote_decided_on, quote_issued_on) end)
      ) kind (date_kind, day)
      where kind.day is not null and quote_status <> 'superseded'
    $$
  `)
  await run(`create or replace view grouped_figures as ${groupedRows(figures)}`)
  await run(`
    create or replace view changed_figures as
    ${currentChanges(figures, {
      keys: ['c.date_kind', 'c.day', 'c.country', 'c.currency'],
      from: contributions('unfolded_changes s'),
    })}
  `)
  await run(`
    create or replace view current_figures as
    select * from grouped_figures
    union all
    select g.grain, c.date_kind, g.starts_on, g.country, c.currency,
      ${columnsOf('c', names(list))}
    from changed_figures c cross join lateral ${grainsOf('c')}
  `)
  await run(`
    create or replace function figures_from_quotes(first_day date, last_day date)
    returns table (grain text, date_kind text, starts_on date, country text, currency text,
      ${list.map(({ name, type }) => `${name} ${type}`).join(', ')})
    language sql stable
    as $$
      with ${figuresByStages('quotes_between(first_day, last_day)', figures, '').trim()}
      select ${columnsOfTable(figures)} from figures
    $$
  `)
}

/** Defines the triggers that append the changes of quotes. */
async function defineAppend(
  db: Kysely<unknown>,
  list: Measure[],
  detail: SummaryDetail | undefined,
): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  const figures = figuresWith(list)
  const columns = [...columnNames, ...(detail?.changeColumns ?? [])]
  const changes = changesIn(columns, detail?.ofUpdate)
  const append = (changed: string, isMany: string, more: string[] = []) => `
        insert into quote_changes (${['sign', ...columns, ...more].join(', ')})
        ${changed} and not ${isMany};`
  const columnOfUpdate = detail?.ofUpdate ? [detail.ofUpdate.column] : []
  // Plans are cached for the session. One that was made while a table was small would read the
  // whole table for each row of a later statement, so sequential scans are off. Groups of thousands
  // of quotes would be written to temporary files with the usual work_mem.
  await run(`
    create or replace function append_quote_changes() returns trigger
    language plpgsql security definer set search_path = public, pg_temp
    ${detail ? 'set enable_seqscan = off' : ''} as $$
    declare
      all_changes text;
      work_mem_before text;
      appended integer;
    begin
      if tg_op = 'INSERT' then ${append(changes.insert.changed, hasMany.insert)}
      elsif tg_op = 'DELETE' then ${append(changes.delete.changed, hasMany.delete)}
      else ${append(changes.update.changed, hasMany.update, columnOfUpdate)}
      end if;
      -- Single statements come first, because they are the most frequent ones.
      if found then
        return null;
      end if;
      if tg_op = 'DELETE' then
        if not ${hasMany.delete} then return null; end if;
      elsif not ${hasMany.insert} then
        return null;
      end if;
      all_changes := case tg_op
        when 'INSERT' then $changes$${changes.insert.all}$changes$
        when 'DELETE' then $changes$${changes.delete.all}$changes$
        else $changes$${changes.update.all}$changes$
      end;
      work_mem_before := current_setting('work_mem');
      perform set_config('work_mem', '64MB', true);
      execute replace($groups$${appendGroups(figures, detail)}
      $groups$, 'changes_of_statement', all_changes);
      get diagnostics appended = row_count;
      ${detail ? `if tg_op = 'UPDATE' then ${detail.afterUpdateOfMany} end if;` : ''}
      perform set_config('work_mem', work_mem_before, true);
      return null;
    end $$
  `)
  await run(`
    create or replace function append_replicated_change() returns trigger
    language plpgsql security definer set search_path = public, pg_temp
    ${detail ? 'set enable_seqscan = off' : ''} as $$
    begin
      insert into quote_changes (sign, ${columns.join(', ')})
      select * from (values (1, ${columnsOf('new', columns)}), (-1, ${columnsOf('old', columns)}))
        v (sign, ${columns.join(', ')})
      where status <> 'superseded';
      ${detail?.afterReplicated ?? ''}
      return null;
    end $$
  `)
  // Replacing a trigger does not block readers of quotes, as dropping it would.
  await run(`create or replace trigger append_inserts after insert on quotes
    referencing new table as new_rows
    for each statement execute function append_quote_changes()`)
  await run(`create or replace trigger append_updates after update on quotes
    referencing old table as old_rows new table as new_rows
    for each statement execute function append_quote_changes()`)
  await run(`create or replace trigger append_deletes after delete on quotes
    referencing old table as old_rows
    for each statement execute function append_quote_changes()`)
  // The condition holds also after `alter table quotes enable trigger user`, which makes every
  // trigger fire for ordinary writes.
  await run(`create or replace trigger append_replicated after insert or update or delete on quotes
    for each row when (current_setting('session_replication_role') = 'replica')
    execute function append_replicated_change()`)
  await run('alter table quotes enable replica trigger append_replicated')
}

/** Defines the function that moves unfolded rows into the summary. */
async function defineFold(db: Kysely<unknown>, tables: SummaryTable[]): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  // Nothing is left of what the fold sees unless a batch is full. A sequential scan would read the
  // dead rows of earlier folds.
  const isComplete = [
    'changes < batch',
    ...tables.map(({ name, batch = 'batch' }) => `${name} < ${batch}`),
  ].join(' and ')
  const inEditions = tables.find(({ editions }) => editions)
  if (inEditions) await defineEditions(db, inEditions)
  await run(`
    create or replace function fold_quote_changes(batch integer) returns integer
    language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off
    as $$
    declare
      moved integer;
      ${inEditions ? 'is_edition_full boolean;' : ''}
      ${tables.map(({ name }) => `empty_${name} ${name}[];`).join('\n      ')}
    begin
      if not exists (select from quote_summary where base_currency is not null)
        or not pg_try_advisory_xact_lock(${foldLock}) then
        return 0;
      end if;
      lock table ${lockedTables(tables)} in row exclusive mode;
      with moved_changes as (
        ${takeBatch('quote_changes')}
      ), ${tables.map((table) => fold(table).trim()).join(',\n      ')},
      counts as (
        select (select count(*) from moved_changes) as changes,
          ${tables
            .map(({ name }) => `(select count(*) from moved_${name}) as ${name}`)
            .join(',\n          ')}
          ${
            inEditions
              ? `, (
            select count(*) from folded_${inEditions.name} where (cell).edition > 0
          ) as edition_updates`
              : ''
          }
      ), summary as (
        update quote_summary set folded = folded + changes,
          folded_through = case when is_complete
            then pg_current_snapshot() else folded_through end,
          folded_by = case when is_complete then pg_current_xact_id() else folded_by end,
          server_started_at = case when is_complete
            then pg_postmaster_start_time() else server_started_at end
          ${inEditions ? ', edition_updates_left = edition_updates_left - edition_updates' : ''}
        from (select *, ${isComplete} as is_complete from counts) counts
        ${inEditions ? 'returning edition_updates_left' : ''}
      )
      select ${inEditions ? '(select edition_updates_left <= 0 from summary),' : ''}
        changes + ${names(tables).join(' + ')},
        ${tables
          .map(({ name }) => `(select array_agg(cell) from folded_${name} where is_empty)`)
          .join(',\n        ')}
      into ${inEditions ? 'is_edition_full,' : ''}
        moved, ${tables.map(({ name }) => `empty_${name}`).join(', ')}
      from counts;
      ${tables.map(removeEmpty).join('\n')}
      ${inEditions ? 'if is_edition_full then perform begin_summary_edition(); end if;' : ''}
      return moved;
    end $$
  `)
  await run('revoke execute on function fold_quote_changes(integer) from public')
}

/**
 * Defines the function that copies the rows of some grains into a new edition. While an old
 * snapshot is open, PostgreSQL keeps the versions of rows that folding replaces. Each answer would
 * visit all of them. It does not visit those of earlier editions, because the edition is part of
 * the primary key.
 */
async function defineEditions(db: Kysely<unknown>, table: SummaryTable): Promise<void> {
  const columns = columnsOfTable(table)
  const grains = table.editions?.map(literal).join(', ')
  await sql
    .raw(`
    create or replace function begin_summary_edition() returns void
    language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off
    as $$
    declare
      next_edition integer;
      copied bigint;
    begin
      update quote_summary set edition = edition + 1 returning edition into next_edition;
      with replaced as (
        delete from ${table.name}
        where grain in (${grains}) and edition = next_edition - 1 returning ${columns}
      )
      insert into ${table.name} (${columns}, edition)
      select ${columns}, next_edition from replaced order by ${table.key.join(', ')};
      get diagnostics copied = row_count;
      update quote_summary
      set edition_updates_left = ${updatesPerRow} * greatest(copied, ${minRowsOfEdition});
    end $$
  `)
    .execute(db)
  await sql`revoke execute on function begin_summary_edition() from public`.execute(db)
  await sql`
    comment on function begin_summary_edition is ${sql.lit(
      'Copies years and totals of months into a new edition of quote_figures.',
    )}
  `.execute(db)
}

/**
 * A new edition begins after so many updates of each of its rows, on average. Then an answer visits
 * at most as many dead versions of each row, and copying adds a third to the work of the updates.
 */
const updatesPerRow = 2
/** So few rows are not worth copying more often. */
const minRowsOfEdition = 500

/** Defines the function that compares the summary with the quotes. */
async function defineVerification(
  db: Kysely<unknown>,
  tables: SummaryTable[],
  sources: string[],
): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  await run(`
    create or replace function find_summary_differences(first_day date, last_day date)
    returns table (relation text, cell text)
    language plpgsql security definer set search_path = public, pg_temp set work_mem = '64MB'
    as $$
    declare
      -- Reading a year takes as long as reading its months, so it is compared with one of them.
      is_oldest_of_year boolean := coalesce(
        newest_month_before(first_day) < date_trunc('year', first_day::timestamp), true
      );
    begin
      lock table ${['quotes', ...sources].join(', ')}, ${lockedTables(tables)}
        in access share mode;
      return query
        ${tables.flatMap(differencesOf).join('\n        union all').trim()}
        order by 1, 2 limit 20;
    end $$
  `)
  await run('revoke execute on function find_summary_differences(date, date) from public')
}

/** Defines the functions that compute the summary again, and that empty it. */
async function defineRebuild(
  db: Kysely<unknown>,
  tables: SummaryTable[],
  sources: string[],
): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  const fill = (table: SummaryTable) => `
      moved_from_${table.name} as (delete from ${unfoldedTableOf(table)}),
      filled_${table.name} as (${fillFromQuotes(table)})`
  await run(`
    create or replace function rebuild_quote_summary() returns void
    language plpgsql set work_mem = '64MB' as $$
    begin
      lock table ${['quotes', ...sources].join(', ')} in access share mode;
      perform pg_advisory_xact_lock(${foldLock});
      lock table ${lockedTables(tables)} in row exclusive mode;
      update quote_summary s set base_currency = c.code, base_digits = c.digits
      from company join currencies c on c.code = company.base_currency;
      ${
        tables.some(({ editions }) => editions)
          ? 'update quote_summary set edition = edition + 1, edition_updates_left = 0;'
          : ''
      }
      ${tables.map(({ name }) => `delete from ${name};`).join('\n      ')}
      with moved_changes as (delete from quote_changes),
      ${tables.map((table) => fill(table).trim()).join(',\n      ')}
      update quote_summary set generation = gen_random_uuid(), folded = 0,
        folded_through = pg_current_snapshot(), folded_by = pg_current_xact_id(),
        server_started_at = pg_postmaster_start_time();
    end $$
  `)
  await run('revoke execute on function rebuild_quote_summary() from public')
  const emptied = tables.flatMap((table) => [table.name, unfoldedTableOf(table)])
  await run(`
    create or replace function empty_quote_summary() returns trigger
    language plpgsql security definer set search_path = public, pg_temp as $$
    begin
      lock table ${lockedTables(tables)} in access exclusive mode;
      truncate quote_changes, ${emptied.join(', ')};
      update quote_summary set generation = gen_random_uuid(), folded = 0,
        folded_through = pg_current_snapshot(), folded_by = pg_current_xact_id(),
        server_started_at = pg_postmaster_start_time();
      return null;
    end $$
  `)
}

/** SQL that fills an empty table from all quotes. */
export const fillFromQuotes = (table: SummaryTable): string => `
        insert into ${table.name} (${columnsOfTable(table)}${editionOf(table).column})
        select ${columnsOfTable(table)}${editionOf(table).value}
        from ${table.fromQuotes}('-infinity', 'infinity')
        order by ${table.key.join(', ')}`

/** SQL that finds the keys whose values in `expected` and in `actual` differ. */
const differences = (
  { name, key, measures: list }: SummaryTable,
  expected: string,
  actual: string,
) => `
        select '${name}',
          concat_ws(' ', ${key.map((column) => keyTexts[column] ?? column).join(', ')})
        from (
          ${expected}
          union all
          select ${key.join(', ')}, ${names(list)
            .map((column) => `-${column}`)
            .join(', ')}
          from (${actual}) a
        ) c
        group by ${key.join(', ')}
        having ${names(list)
          .map((column) => `sum(${column}) <> 0`)
          .join(' or ')}`
/** How a difference names the parts of a key that may be empty. */
const keyTexts: Record<string, string> = {
  country: `case when grain not like '%total' then coalesce(nullif(country, ''), 'unknown') end`,
  sku: `coalesce(nullif(sku, ''), 'none')`,
}

/**
 * Compares the rows that begin between two days with the quotes. Years are compared with their
 * months if no older month of the first year has quotes.
 */
function differencesOf(table: SummaryTable): string[] {
  const { key, view, fromQuotes, measures: list, years } = table
  const isBetween = `grain not like 'year%' and starts_on between first_day and last_day`
  const sumsOfMonths = names(list).map((name) => `sum(${name}) as ${name}`)
  const compareYears = ([year, month]: [string, string]) => {
    const keys = key.map((column) => {
      if (column === 'grain') return `'${year}' as grain`
      return column === 'starts_on' ? `${firstOf('year', 'starts_on')} as starts_on` : column
    })
    const groups = key.flatMap((column, index) => (column === 'grain' ? [] : [index + 1]))
    return differences(
      table,
      `select ${keys.join(', ')}, ${sumsOfMonths.join(', ')}
          from ${view}
          where is_oldest_of_year and grain = '${month}'
            and starts_on >= date_trunc('year', first_day::timestamp)
            and starts_on < date_trunc('year', last_day::timestamp) + interval '1 year'
          group by ${groups.join(', ')}`,
      `select * from ${view} where is_oldest_of_year and grain = '${year}'
          and starts_on between date_trunc('year', first_day::timestamp) and last_day`,
    )
  }
  return [
    differences(
      table,
      `select ${columnsOfTable(table)} from ${fromQuotes}(first_day, last_day) where ${isBetween}`,
      `select * from ${view} where ${isBetween}`,
    ),
    ...Object.entries(years).map(compareYears),
  ]
}

/** The comments on what `defineSummary` creates. */
function functionComments(list: Measure[]): [what: string, text: string][] {
  return [
    ...list.flatMap(({ name, comment }): [string, string][] => [
      [`column quote_figures.${name}`, comment],
      [`column quote_figures_unfolded.${name}`, `Change: ${comment}`],
      ...['current_figures', 'grouped_figures'].map((view): [string, string] => [
        `column ${view}.${name}`,
        `Part of: ${comment}`,
      ]),
      [`column changed_figures.${name}`, `Change: ${comment}`],
    ]),
    ...['current_figures', 'grouped_figures'].flatMap((view): [string, string][] => [
      ...keysOf(view),
      [`column ${view}.date_kind`, dateKindComment],
      [`column ${view}.grain`, grainComment],
    ]),
    ['column changed_figures.date_kind', dateKindComment],
    ['column changed_figures.day', 'The day on which the figures count.'],
    ['column changed_figures.country', keyComments.country],
    ['column changed_figures.currency', keyComments.currency],
    [
      'function quote_figures_of',
      'What one quote contributes to quote_figures: the one definition of every figure. A quote ' +
        'counts on its day of issue, and an accepted one also on its day of decision.',
    ],
    [
      'view current_figures',
      'Figures of all committed quotes: grouped_figures, and changed_figures as days, months and ' +
        'years. A reader adds up the rows of a key.',
    ],
    [
      'view grouped_figures',
      'Figures without single changes: folded rows, and the unfolded rows of statements with ' +
        'many quotes.',
    ],
    ['view changed_figures', 'Figures of single changes that are not folded, by day.'],
    [
      'function figures_from_quotes',
      'Figures computed from the quotes that count between two days: for the rebuild and the ' +
        'verification.',
    ],
    [
      'function append_quote_changes',
      'Appends what a statement changes, in the transaction of the writer. Writers share no row, ' +
        'so they never wait for each other.',
    ],
    [
      'function fold_quote_changes',
      'Moves up to this number of unfolded rows of each table into the summary and returns how ' +
        'many. Returns 0 if there are none or if another process is folding.',
    ],
    [
      'function find_summary_differences',
      'Rows of the summary between two days, the whole months that begin there included, that ' +
        'differ from the quotes; at most twenty. Years are compared with the oldest of their ' +
        'months.',
    ],
    [
      'function rebuild_quote_summary',
      'Rebuilds the summary from the quotes. Writers and readers are not blocked.',
    ],
  ]
}

/** Drops what `defineSummary` creates and cannot replace if the measures are others. */
export async function dropSummaryFunctions(db: Kysely<unknown>): Promise<void> {
  await sql`
    drop function if exists fold_quote_changes;
    drop function if exists rebuild_quote_summary;
    drop function if exists find_summary_differences;
    drop function if exists figures_from_quotes;
    drop view if exists current_figures;
    drop view if exists grouped_figures;
    drop view if exists changed_figures;
    drop function if exists quote_figures_of
  `.execute(db)
}

const figuresKey = `
  grain text collate "C" not null
    check (grain in ('day', 'day_total', 'month', 'month_total', 'year')),
  date_kind text collate "C" not null check (date_kind in ('issued', 'accepted')),
  starts_on date not null,
  country text collate "C" not null,
  currency text collate "C" not null`

/**
 * Replaces quote_figures. A question about all quotes reads years and totals, which fill few pages.
 * Pages have room for new versions of their rows, and no index has a measure, so that updates are
 * heap-only (HOT). Roles that may read the old table may read the new one.
 */
async function createFigures(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table quote_figures rename to old_figures;
    create table quote_figures (
      ${sql.raw(figuresKey)},
      ${sql.raw(measures.map(({ name, type }) => `${name} ${type} not null`).join(', '))}
    ) partition by list (grain);
    do $$
    declare
      reader record;
    begin
      for reader in
        select
          case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end as name
        from pg_class, aclexplode(relacl)
        where oid = 'old_figures'::regclass and privilege_type = 'SELECT' and grantee <> relowner
      loop
        execute format('grant select on quote_figures to %s', reader.name);
      end loop;
    end $$;
    drop table old_figures;
    create table quote_figures_days partition of quote_figures for values in ('day')
      with (fillfactor = 80);
    create table quote_figures_months partition of quote_figures for values in ('month')
      with (fillfactor = 70);
    create table quote_figures_totals partition of quote_figures
      for values in ('day_total', 'month_total', 'year') with (fillfactor = 50);
    alter table quote_figures add primary key (grain, date_kind, starts_on, country, currency)
  `.execute(db)
}

/** The columns of a table of unfolded rows: the transaction that wrote them, and the summary's. */
export const unfoldedColumns = (
  { measures: list }: Pick<SummaryTable, 'measures'>,
  keyColumns: string,
) => `
  xid xid8 not null default pg_current_xact_id(),
  ${keyColumns},
  ${list.map(({ name, type }) => `${name} ${type} not null`).join(',\n  ')}`

export const vacuumSoon = 'autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000'

export async function up(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)

  // Writers wait until the new triggers are in place. The rebuild at the end counts every quote, so
  // what quote_deltas holds is not needed.
  await run('lock table quotes in share row exclusive mode')
  await run(`select pg_advisory_xact_lock(${foldLock})`)
  // In the order in which readers lock them until now. Another order could deadlock.
  await run(`lock table quote_summary, quote_deltas, quote_figures, quote_validity
    in access exclusive mode`)
  await dropSummaryFunctions(db)
  await run('drop function fold_quote_deltas')
  await run('drop table quote_deltas')
  await createFigures(db)
  await run('drop table quote_validity')
  await run(`
    create table quote_validity (
      grain text collate "C" not null check (${isGrainOfValidity}),
      valid_until date not null,
      starts_on date not null,
      country text collate "C" not null,
      currency text collate "C" not null,
      quotes bigint not null,
      base_net numeric not null,
      primary key (grain, valid_until, starts_on, country, currency)
    ) with (fillfactor = 80)
  `)
  await run(`
    alter table quote_summary add column folded_through pg_snapshot not null
        default pg_current_snapshot(),
      add column folded_by xid8 not null default pg_current_xact_id(),
      add column base_currency text,
      add column base_digits integer,
      add column server_started_at timestamptz not null default pg_postmaster_start_time()
  `)
  await run(`
    create table quote_changes (
      xid xid8 not null default pg_current_xact_id(),
      created_at timestamptz not null default now(),
      sign smallint not null check (sign in (-1, 0, 1)),
      ${Object.entries(quoteColumns)
        .map(([name, type]) => `${name} ${type}`)
        .join(', ')}
    ) with (${vacuumSoon})
  `)
  await run(`
    create table quote_figures_unfolded (${unfoldedColumns(
      figuresWith(measures),
      figuresKey,
    )}) partition by list (grain);
    create table quote_figures_unfolded_days partition of quote_figures_unfolded
      for values in ('day') with (${vacuumSoon});
    create table quote_figures_unfolded_totals partition of quote_figures_unfolded
      for values in ('day_total', 'month', 'month_total', 'year') with (${vacuumSoon})
  `)
  await run(`
    create table quote_validity_unfolded (${unfoldedColumns(
      validity,
      `grain text collate "C" not null check (${isGrainOfValidity}),
  valid_until date not null,
  starts_on date not null,
  country text collate "C" not null,
  currency text collate "C" not null`,
    )}) with (${vacuumSoon})
  `)
  await run('create index quote_changes_xid on quote_changes (xid)')
  await run(`
    create index quote_figures_unfolded_xid on quote_figures_unfolded (xid);
    create index quote_figures_unfolded_key
    on quote_figures_unfolded (grain, date_kind, starts_on)
  `)
  await run(`
    create index quote_validity_unfolded_xid on quote_validity_unfolded (xid);
    create index quote_validity_unfolded_key on quote_validity_unfolded (grain, valid_until)
  `)

  // Transaction ids of another server mean nothing in a restored dump. After each start of the
  // server, all rows that are left count as unfolded until the next fold. Functions, because the
  // planner calls them to estimate how many rows are unfolded, whatever the statistics say.
  await run(`
    create function next_unfolded_xid() returns xid8 language plpgsql stable as $$
    begin
      return (
        select case when server_started_at = pg_postmaster_start_time()
          then pg_snapshot_xmax(folded_through) else '1'::xid8 end
        from quote_summary
      );
    end $$
  `)
  await run(`
    create function late_unfolded_xids() returns xid8[] language plpgsql stable as $$
    begin
      return (
        select array(select pg_snapshot_xip(folded_through)) || folded_by from quote_summary
      );
    end $$
  `)
  await run(`
    create view unfolded_changes as select d.* from ${unfolded('quote_changes')}
  `)
  await run(`
    create function net_in_base(
      net numeric, currency text, rate numeric, base_currency text, base_digits integer
    ) returns numeric language sql immutable parallel safe
    return case when currency = base_currency then net else round(net * rate, base_digits) end
  `)
  await run(`
    create function quote_validity_of(${parameters})
    returns table (issued_on date, valid_until date, country text, currency text,
      quotes integer, base_net numeric)
    language sql immutable parallel safe
    as $$
      select quote_issued_on, coalesce(quote_valid_until, 'infinity'), coalesce(quote_country, ''),
        quote_currency, 1, ${netInBase}
      where quote_status = 'sent'
    $$
  `)
  await run(`
    create index quotes_accepted_on on quotes (coalesce(decided_on, issued_on))
    where status = 'accepted'
  `)
  await run(`
    create function quotes_between(first_day date, last_day date)
    returns table (${Object.entries(quoteColumns)
      .map(([name, type]) => `${name} ${type}`)
      .join(', ')})
    language sql stable
    as $$
      select ${columnsOf('q')}
      from quotes q
      where q.issued_on between first_day and last_day
        or q.status = 'accepted'
          and coalesce(q.decided_on, q.issued_on) between first_day and last_day
    $$
  `)
  await defineValidity(db)
  await defineSummary(db, measures)
  await run('drop function append_quote_deltas')
  await run('alter table quotes enable always trigger empty_summary')
  // Transactions that are still running may have appended grouped rows in the old base currency.
  await run(`
    create or replace function rebuild_for_company() returns trigger
    language plpgsql security definer set search_path = public, pg_temp as $$
    begin
      if tg_op = 'UPDATE' and old.base_currency <> new.base_currency then
        lock table quotes in share mode;
      end if;
      perform rebuild_quote_summary();
      return null;
    end $$
  `)
  for (const [what, text] of [...comments, ...validityComments])
    await run(`comment on ${what} is ${literal(text)}`)
  await run('select rebuild_quote_summary()')
}

/** Creates or replaces what computes quote_validity, besides the functions of all tables. */
export async function defineValidity(db: Kysely<unknown>): Promise<void> {
  const run = (text: string) => sql.raw(text).execute(db)
  await run(`
    create or replace function validity_from_quotes(first_day date, last_day date)
    returns table (grain text, valid_until date, starts_on date, country text, currency text,
      quotes bigint, base_net numeric)
    language sql stable
    as $$
      ${grouped(validityOf('quotes_between(first_day, last_day) s'), validityMeasures, '')}
    $$
  `)
  await run(`create or replace view current_validity as ${current(validity)}`)
  for (const [what, text] of validityComments) await run(`comment on ${what} is ${literal(text)}`)
}

export const literal = (text: string) => `'${text.replaceAll("'", "''")}'`

const keyComments = {
  grain: 'What the row adds up.',
  starts_on: 'The day, or the first day of the month or year.',
  country: 'Of the buyer. Empty: unknown, so that it can be part of a key.',
  currency: 'Of the quotes.',
}
const keysOf = (table: string) =>
  Object.entries(keyComments).map(([column, text]): [string, string] => [
    `column ${table}.${column}`,
    text,
  ])
const dateKindComment =
  'issued: by the day of issue; accepted: accepted quotes by their day of decision, else of issue.'
const lastValidDayComment =
  'The last day on which the quotes stand, or the last day of its month in month_by_month; ' +
  'infinity: they do not end.'
const validityGrainComment =
  'day or month of issue, by last valid day; month_by_month: month of issue, by last valid month.'
const transactionComment = 'The transaction that appended the row.'
const grainComment =
  'day, month or year by country; month_total: months over all countries, with an empty country.'

const validityComments = ['quote_validity', 'quote_validity_unfolded', 'current_validity'].flatMap(
  (relation): [what: string, text: string][] => [
    [`column ${relation}.grain`, validityGrainComment],
    [`column ${relation}.valid_until`, lastValidDayComment],
  ],
)

const comments: [what: string, text: string][] = [
  [
    'table quote_changes',
    'Changes of quotes that are not folded yet. A statement that changes many quotes appends one ' +
      'row with sign 0 here, and its rows to quote_figures_unfolded and quote_validity_unfolded.',
  ],
  ...['quote_changes', 'unfolded_changes'].flatMap((relation): [string, string][] => [
    [`column ${relation}.xid`, transactionComment],
    [`column ${relation}.created_at`, 'The start of that transaction.'],
    [
      `column ${relation}.sign`,
      '1: the quote counts from now on; -1: it counted before; 0: many quotes changed.',
    ],
    ...columnNames.map((name): [string, string] => [
      `column ${relation}.${name}`,
      `${name} of the quote.`,
    ]),
  ]),
  ['table quote_figures', 'Figures by day, month and year, without what is not folded yet.'],
  ['table quote_figures_days', 'The rows of quote_figures that are days.'],
  ['table quote_figures_months', 'The rows of quote_figures that are months.'],
  ['table quote_figures_totals', 'The rows of quote_figures that are years and totals of months.'],
  ...keysOf('quote_figures'),
  ['column quote_figures.date_kind', dateKindComment],
  ['column quote_figures.grain', grainComment],
  ['table quote_figures_unfolded', 'Changes of quote_figures by statements with many quotes.'],
  ['table quote_figures_unfolded_days', 'The rows of quote_figures_unfolded that are days.'],
  ['table quote_figures_unfolded_totals', 'All other rows of quote_figures_unfolded.'],
  ['column quote_figures_unfolded.xid', transactionComment],
  ...keysOf('quote_figures_unfolded'),
  ['column quote_figures_unfolded.date_kind', dateKindComment],
  [
    'table quote_validity',
    'Sent quotes by day or month of issue and by their last valid day: how many are still open.',
  ],
  ...keysOf('quote_validity'),
  ['table quote_validity_unfolded', 'Changes of quote_validity by statements with many quotes.'],
  ['column quote_validity_unfolded.xid', transactionComment],
  ...keysOf('quote_validity_unfolded'),
  ...keysOf('current_validity'),
  ...validityMeasures.flatMap(({ name, comment }): [string, string][] => [
    [`column quote_validity.${name}`, comment],
    [`column quote_validity_unfolded.${name}`, `Change: ${comment}`],
    [`column current_validity.${name}`, `Part of: ${comment}`],
  ]),
  [
    'table quote_summary',
    'Version of the summary. generation, and folded plus the number of unfolded_changes, change ' +
      'with every commit that changes the statistics.',
  ],
  [
    'column quote_summary.folded_through',
    'The snapshot of the last fold: changes of transactions that it contains are folded.',
  ],
  [
    'column quote_summary.server_started_at',
    'The start of the PostgreSQL server whose transactions folded_through names.',
  ],
  [
    'column quote_summary.folded_by',
    'The transaction that folded. What it appends afterwards is unfolded.',
  ],
  [
    'column quote_summary.base_currency',
    'The base currency of the figures; null before the company is recorded.',
  ],
  ['column quote_summary.base_digits', 'The minor digits of the base currency.'],
  [
    'function next_unfolded_xid',
    'The first transaction after the last fold: its changes and all later ones are unfolded.',
  ],
  [
    'function late_unfolded_xids',
    'Transactions before next_unfolded_xid that were still running at the last fold, and the one ' +
      'that folded.',
  ],
  ['view unfolded_changes', 'The rows of quote_changes that are not folded.'],
  [
    'view current_validity',
    'Sent quotes, folded and not, as in quote_validity. A reader adds up the rows of a key.',
  ],
  ['function net_in_base', 'An amount in the base currency, rounded half up; null without a rate.'],
  ['function quote_validity_of', 'What one quote contributes to quote_validity.'],
  ['function quotes_between', 'The quotes that count on a day between two days.'],
  ['function validity_from_quotes', 'quote_validity computed from the quotes between two days.'],
  [
    'function append_replicated_change',
    'Appends what logical replication changes, which fires no triggers for statements.',
  ],
]
