// The queries that read the summary: totals of a period by country, by currency, by month and by
// day. Their cost depends on the number of days, countries and currencies, not of quotes. Their
// texts are the same for every request, so that PostgreSQL keeps few plans.
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

/** What the quotes of a row have in common: nothing, a country, a currency or a month. */
export type SummaryLevel = 'total' | 'country' | 'currency' | 'month'

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
 * Returns the query for the total of the quotes in the range, and for the totals of each country,
 * currency and month. Groups without quotes are left out. Amounts are in the base currency, but
 * `ownNet` and `ownUnconvertedNet` are in the currency of the row. Currencies and countries are
 * ordered by revenue and then by code, with the unknown country last. Without `byCountryAndMonth`
 * it reads rows over all countries, which are fewer.
 */
export function queryTotals(
  db: Kysely<Tables>,
  request: DatedRequest,
  range: DateRange,
  { baseDigits, byCountryAndMonth }: { baseDigits: number; byCountryAndMonth: boolean },
) {
  const months = coverRange(range, grainsOf(request, ['month', 'day']))
  const byCountry = coverRange(range, ['year', 'month', 'day'])
  return db
    .with('by_group', (query) =>
      selectCells(query, request, byCountryAndMonth ? byCountry : months)
        .groupBy(['range.sign', 'country', 'currency'])
        .select([...signedSums, 'country', 'currency']),
    )
    .with('by_month', (query) =>
      selectCells(query, request, byCountryAndMonth ? months : [])
        .groupBy(['range.sign', monthOfCell])
        .select([...signedSums, monthOfCell.as('month')]),
    )
    .with('by_level', (query) =>
      query
        .selectFrom('by_group')
        .groupBy(sql`grouping sets ((), (country), (currency))`)
        .select(sums)
        .select([
          // grouping() is 3 without country and currency, and 1 without currency, so by country.
          sql<SummaryLevel>`case grouping(country, currency)
            when 3 then 'total' when 1 then 'country' else 'currency' end`.as('level'),
          sql<string | null>`null::date`.as('month'),
          sql<string | null>`country`.as('country'),
          sql<string | null>`currency`.as('currency'),
        ])
        .unionAll(
          query
            .selectFrom('by_month')
            .groupBy('month')
            .select(sums)
            .select([
              sql<SummaryLevel>`'month'`.as('level'),
              sql<string | null>`month`.as('month'),
              sql<string | null>`null::text`.as('country'),
              sql<string | null>`null::text`.as('currency'),
            ]),
        ),
    )
    .selectFrom('by_level')
    .leftJoin('currencies', (join) =>
      join.on('currencies.code', '=', sql<string>`by_level.currency collate "default"`),
    )
    .where('quotes', '>', '0')
    .select(['level', 'by_level.currency', ...figureTexts(baseDigits)])
    .select([
      sql<string | null>`to_char(month, 'YYYY-MM')`.as('month'),
      sql<string | null>`nullif(country, '')`.as('country'),
      sql<string>`round(own_net, digits)`.as('ownNet'),
      sql<string>`round(unconverted_net, digits)`.as('ownUnconvertedNet'),
    ])
    .orderBy('by_level.month')
    .orderBy('by_level.won_net', 'desc')
    .orderBy(sql`nullif(country, '')`, (order) => order.asc().nullsLast())
    .orderBy('by_level.currency')
}

/** Returns the query for the totals of each day of the range that has quotes, in order. */
export function queryDays(
  db: Kysely<Tables>,
  request: DatedRequest,
  range: DateRange,
  baseDigits: number,
) {
  const days = coverRange(range, grainsOf(request, ['day']))
  return db
    .with('days', (query) =>
      selectCells(query, request, days)
        .groupBy('starts_on')
        .select([...sums, 'starts_on as day']),
    )
    .selectFrom('days')
    .where('quotes', '>', '0')
    .select(figureTexts(baseDigits))
    .select(sql<string>`to_char(day, 'YYYY-MM-DD')`.as('day'))
    .orderBy('days.day')
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
function selectCells(db: QueryCreator<Tables>, request: DatedRequest, ranges: GrainRange[]) {
  return db
    .selectFrom(rangesOf(ranges))
    .innerJoinLateral(
      cellsOfRange<Figures & CellKey>('quote_figures', request).as('cell'),
      (join) => join.onTrue(),
    )
    .where(matchesCountryAndCurrency(request))
}

/** What a row of quote_figures has besides the figures, as far as queries read it. */
type CellKey = { starts_on: string; country: string; currency: string }

/**
 * The cells of one range. `offset 0` keeps PostgreSQL from joining all cells of the date kind with
 * the ranges: each range reads its own part of the index.
 */
export const cellsOfRange = <Row>(
  table: 'quote_figures' | 'customer_figures' | 'product_figures',
  { date }: DatedRequest,
) => sql<Row>`(
  select * from ${sql.table(table)} f where f.grain = range.grain and f.date_kind = ${date}
    and f.starts_on between range.first and range.last offset 0
)`

/** The ranges as a table, so that their number does not change the text of a query. */
export function rangesOf<Grain extends string>(ranges: GrainRange<Grain>[]) {
  const column = (name: 'grain' | 'from' | 'to' | 'sign') => ranges.map((range) => range[name])
  return sql<{ grain: Grain; first: string; last: string; sign: number }>`(
    select grain collate "C" as grain, first, last, sign from unnest(
      ${column('grain')}::text[], ${column('from')}::date[], ${column('to')}::date[],
      ${column('sign')}::integer[]
    ) as ranges (grain, first, last, sign)
  )`.as('range')
}

/** The conditions for the country and the currency, if the request has them. */
export function matchesCountryAndCurrency({ country, currency }: DatedRequest) {
  // An unknown country is stored as an empty text, because a primary key cannot contain null.
  const countryKey = country === 'unknown' ? '' : (country ?? null)
  return sql<boolean>`(${countryKey}::text is null or country = ${countryKey})
    and (${currency ?? null}::text is null or currency = ${currency ?? null})`
}

/** A timestamp with a time zone would take longer. */
const monthOfCell = sql<string>`date_trunc('month', starts_on::timestamp)::date`
const sums = summedColumns.map((name) => sql<string>`sum(${sql.ref(name)})`.as(name))
const signedSums = summedColumns.map((name) =>
  sql<string>`range.sign * sum(${sql.ref(name)})`.as(name),
)
