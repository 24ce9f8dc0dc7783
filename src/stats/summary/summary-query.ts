// The queries that read the summary: totals of a period by country, by currency, by month and by
// day. Their cost depends on the number of days, countries and currencies, not of quotes. Their
// texts depend on what is filtered, not on the values, so that PostgreSQL keeps few plans.
import { type Kysely, type QueryCreator, sql, type Transaction } from 'kysely'
import type { Figures, Tables } from '../../database/table-types.ts'
import { baseAmountColumns, countColumns, summedColumns } from '../figures.ts'
import { type DatedRequest, hasBreakdown } from '../schema.ts'
import { coverRange, type DateRange, type GrainRange } from './summary-grains.ts'

/** The columns of FigureTexts. */
const figureTexts = (baseDigits: number) =>
  [
    ...countColumns,
    ...baseAmountColumns.map((name) =>
      sql<string>`round(${sql.ref(name)}, ${baseDigits})`.as(name),
    ),
  ] as const

/** What the quotes of a row have in common: nothing, a country, a currency, a month or a day. */
export type SummaryLevel = 'total' | 'country' | 'currency' | 'month' | 'day'

/**
 * Prepares a transaction to read the summary. With a breakdown it locks the tables that are read
 * besides the summary, before its first query begins the snapshot: TRUNCATE ignores snapshots.
 *
 * The plans are for statements of a few milliseconds. A generic plan does not depend on statistics
 * of the tables, which are out of date after a bulk write. Every range has an index.
 */
export async function prepareSnapshot(
  transaction: Transaction<Tables>,
  request: Pick<DatedRequest, 'by'>,
): Promise<void> {
  const lock = hasBreakdown(request)
    ? sql`lock table breakdown_sources in access share mode;`
    : sql``
  await sql`${lock}
    set local max_parallel_workers_per_gather = 0; set local jit = off;
    set local enable_seqscan = off; set local enable_hashjoin = off;
    set local enable_mergejoin = off; set local plan_cache_mode = force_generic_plan
  `.execute(transaction)
}

/**
 * Returns the query for the total of the quotes in the range, for the totals of each currency, and
 * with `lists` of each country and month, and of each day if the request asks for them. Groups
 * without quotes are left out. Amounts are in the base currency, but `ownNet` and
 * `ownUnconvertedNet` are in the currency of the row. Currencies and countries are ordered by
 * revenue and then by code, with the unknown country last.
 */
export function queryTotals(
  db: Kysely<Tables>,
  request: DatedRequest,
  range: DateRange,
  { baseDigits, lists }: { baseDigits: number; lists: boolean },
) {
  const months = coverRange(range, grainsOf(request, ['month', 'day']))
  const days = request.by === 'day' ? coverRange(range, grainsOf(request, ['day'])) : []
  const at = (level: SummaryLevel, ranges: GrainRange[]) =>
    ranges.map((part) => ({ ...part, level }))
  const ranges = lists
    ? [
        ...at('total', coverRange(range, ['year', 'month', 'day'])),
        ...at('month', months),
        ...at('day', days),
      ]
    : at('total', months)
  return db
    .with('parts', (query) =>
      selectCells(query, request, ranges)
        .groupBy(['range.sign', 'range.level', periodOfCell, 'country', 'currency'])
        .select([...signedSums, 'level', periodOfCell.as('period'), 'country', 'currency']),
    )
    .with('groups', (query) =>
      query
        .selectFrom('parts')
        .groupBy(sql`grouping sets ((level, period), (level, country), (level, currency))`)
        .having(sql<boolean>`level = 'total' or grouping(period) = 0`)
        .select(sums)
        .select([
          sql<SummaryLevel>`case when grouping(country) = 0 then 'country'
            when grouping(currency) = 0 then 'currency' else level end`.as('level'),
          'period',
          sql<string | null>`country`.as('country'),
          sql<string | null>`currency`.as('currency'),
        ]),
    )
    .selectFrom('groups')
    .leftJoin('currencies', (join) =>
      join.on('currencies.code', '=', sql<string>`groups.currency collate "default"`),
    )
    .where('quotes', '>', '0')
    .select(['level', 'groups.currency', ...figureTexts(baseDigits)])
    .select([
      sql<string>`period::text`.as('firstDay'),
      sql<string | null>`nullif(country, '')`.as('country'),
      sql<string>`round(own_net, digits)`.as('ownNet'),
      sql<string>`round(unconverted_net, digits)`.as('ownUnconvertedNet'),
    ])
    .orderBy('groups.period')
    .orderBy('groups.won_net', 'desc')
    .orderBy(sql`nullif(country, '')`, (order) => order.asc().nullsLast())
    .orderBy('groups.currency')
}

/** Returns the query for the first and the last day of these ranges on which a quote counts. */
export function queryDateRange(db: Kysely<Tables>, request: DatedRequest, ranges: DateRange[]) {
  const days = ranges.flatMap((range) => coverRange(range, grainsOf(request, ['day'])))
  return selectCells(db, request, days).select(({ fn }) => [
    fn.min<string | null>('starts_on').as('first'),
    fn.max<string | null>('starts_on').as('last'),
  ])
}

/** Rows over all countries are fewer, but they cannot be filtered by country. */
const grainsOf = <Grain extends 'month' | 'day'>({ country }: DatedRequest, grains: Grain[]) =>
  grains.map((grain) => (country === undefined ? (`${grain}_total` as const) : grain))

/** Selects the cells of the ranges, each with its range. */
function selectCells(db: QueryCreator<Tables>, request: DatedRequest, ranges: LevelRange[]) {
  const cells = cellsOfRange<Figures & CellKey>('quote_figures', request)
  return db.selectFrom(rangesOf(ranges)).innerJoinLateral(cells.as('cell'), (join) => join.onTrue())
}

/** What a row of quote_figures has besides the figures, as far as queries read it. */
type CellKey = { starts_on: string; country: string; currency: string }

/**
 * The cells of one range. `offset 0` keeps PostgreSQL from joining all cells of the date kind with
 * the ranges: each range reads its own part of the index.
 */
export const cellsOfRange = <Row>(
  table: 'quote_figures' | 'customer_figures' | 'product_figures',
  request: DatedRequest,
) => sql<Row>`(
  select * from ${sql.table(table)} f where f.grain = range.grain and f.date_kind = ${request.date}
    and f.starts_on between range.first and range.last and ${matchesFilters(request)} offset 0
)`

/**
 * The conditions for the country and the currency. Without a filter there is none, so that an index
 * can be used for those that there are. An unknown country is stored as an empty text.
 */
export const matchesFilters = ({ country, currency }: DatedRequest) =>
  sql<boolean>`${country === undefined ? sql`true` : sql`country = ${country.replace('unknown', '')}`}
    and ${currency === undefined ? sql`true` : sql`currency = ${currency}`}`

type LevelRange = GrainRange & { level?: SummaryLevel }

/** The ranges as a table, so that their number does not change the text of a query. */
export function rangesOf(ranges: LevelRange[]) {
  const column = (name: keyof LevelRange) => ranges.map((range) => range[name] ?? null)
  return sql<{ level: string; first: string; last: string; sign: number }>`(
    select grain collate "C" as grain, first, last, sign, level from unnest(
      ${column('grain')}::text[], ${column('from')}::date[], ${column('to')}::date[],
      ${column('sign')}::integer[], ${column('level')}::text[]
    ) as ranges (grain, first, last, sign, level)
  )`.as('range')
}

/** The first day of the month or day. A timestamp with a time zone would take longer. */
const periodOfCell = sql<string | null>`case level
  when 'month' then date_trunc('month', starts_on::timestamp)::date when 'day' then starts_on end`
const sums = summedColumns.map((name) => sql<string>`sum(${sql.ref(name)})`.as(name))
const signedSums = summedColumns.map((name) =>
  sql<string>`range.sign * sum(${sql.ref(name)})`.as(name),
)
