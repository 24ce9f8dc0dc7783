// The queries for the customers and the products with the highest revenue. Whole years and months
// come from the summary, so their cost depends on the number of customers or products. Only the
// days of a month that is covered in part are computed from the quotes.
import { type AliasedRawBuilder, type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import type { ProductGrain, Tables } from '../../database/table-types.ts'
import { maxListedGroups, type StatsRequest } from '../schema.ts'
import { isOfDateKind, isWithin, matchesCountryAndCurrency } from './row-conditions.ts'
import { coverWithYears, type DateRange, type GrainRange, groupBySign } from './summary-grains.ts'

/**
 * The totals of a customer or product, or of the rest: all others together. The rest has no `key`
 * and no `name`. `groupCount` is the number of customers or products in a row: 1 except for the
 * rest. `counted` is the number of quotes of customers, or of lines of products. Amounts are in the
 * base currency.
 */
export type BreakdownRow = {
  key: string | null
  name: string | null
  groupCount: string
  counted: string
  accepted: string
  revenue: string
  unconverted: string
}

export type BaseCurrency = { currency: string; digits: number }

/** What is added up for each customer or product. */
const breakdownFigures = ['counted', 'accepted', 'revenue', 'unconverted'] as const
type BreakdownFigure = (typeof breakdownFigures)[number]

/** A part of the totals of a customer or product. Parts with sign -1 are subtracted. */
type PartialTotals = Record<BreakdownFigure, string> & { sign: number; key: string }
/** A query for some of these parts. All such queries have the same columns. */
type PartQuery = SelectQueryBuilder<Tables, never, PartialTotals>
/** The SQL of the key and of each figure, as one of the views has them. */
type KeyAndFigures = AliasedRawBuilder<unknown, 'key' | BreakdownFigure>[]

/** Returns the first customers by revenue, then by id, and the rest as one row. */
export function readCustomerRows(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  { digits }: BaseCurrency,
): Promise<BreakdownRow[]> {
  const { ranges, days } = splitForBreakdown(range)
  const columns: KeyAndFigures = [
    sql`customer_id`.as('key'),
    sql`quotes`.as('counted'),
    sql`accepted`.as('accepted'),
    sql`base_net`.as('revenue'),
    sql`unconverted`.as('unconverted'),
  ]
  const parts = groupBySign(ranges).map(({ sign, ranges: rangesOfSign }) =>
    db
      .selectFrom('current_customer_figures')
      .where(isWithin(rangesOfSign, isOfDateKind(request)))
      .where(matchesCountryAndCurrency(request))
      .select([sql.lit(sign).as('sign'), ...columns])
      .$castTo<PartialTotals>(),
  )
  const partsOfDays = queryDaysFromQuotes(db, request, days, 'customer_figures_between', columns)
  return rankGroups(db, [...parts, ...partsOfDays], digits)
    .leftJoin('customers', 'customers.id', 'listed.listed_key')
    .select('customers.name')
    .execute()
}

/** Returns the first products by revenue, then by SKU, and the rest as one row. */
export function readProductRows(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  { currency, digits }: BaseCurrency,
): Promise<BreakdownRow[]> {
  const { ranges, days } = splitForBreakdown(range)
  const rows: GrainRange<BreakdownGrain | ProductGrain>[] =
    request.country === undefined ? ranges.map(toTotalGrain) : ranges
  const columns: KeyAndFigures = [
    // product_figures has this collation. The days that are computed from the quotes need it too,
    // so that products with equal revenue have the same order on every server.
    sql`sku collate "C"`.as('key'),
    sql`lines`.as('counted'),
    sql`0`.as('accepted'),
    // In the base currency. Quotes in that currency need no rate. The summary of products does not
    // know the base currency, so it is compared here.
    // customer_figures already stores the net in the base currency.
    sql`case when currency = ${currency} then net else rated_net end`.as('revenue'),
    sql`case when currency = ${currency} then 0 else unrated_lines end`.as('unconverted'),
  ]
  const parts = groupBySign(rows).map(({ sign, ranges: rangesOfSign }) =>
    db
      .selectFrom('current_product_figures')
      .where(isWithin(rangesOfSign, isOfDateKind(request)))
      .where(matchesCountryAndCurrency(request))
      .select([sql.lit(sign).as('sign'), ...columns])
      .$castTo<PartialTotals>(),
  )
  const partsOfDays = queryDaysFromQuotes(db, request, days, 'product_figures_between', columns)
  return rankGroups(db, [...parts, ...partsOfDays], digits)
    .leftJoin('products', (join) =>
      // The collation of the index on products.sku, which another one could not use.
      join.on('products.sku', '=', sql<string>`listed_key collate "default"`),
    )
    .select('products.name')
    .execute()
}

type BreakdownGrain = 'year' | 'month'

/** Splits a range into years and months, which the summary has, and single days. */
function splitForBreakdown(range: DateRange) {
  const all = coverWithYears(range)
  return {
    ranges: all.filter((part): part is GrainRange<BreakdownGrain> => part.grain !== 'day'),
    days: all.filter(({ grain }) => grain === 'day'),
  }
}

/** Rows over all countries are fewer, but they cannot be filtered by country. */
const toTotalGrain = ({
  grain,
  ...range
}: GrainRange<BreakdownGrain>): GrainRange<ProductGrain> => ({
  ...range,
  grain: grain === 'year' ? 'year_total' : 'month_total',
})

/** Returns a query for each range of days. The SQL function computes its rows from the quotes. */
function queryDaysFromQuotes(
  db: Kysely<Tables>,
  request: StatsRequest,
  days: GrainRange[],
  sqlFunction: 'customer_figures_between' | 'product_figures_between',
  columns: KeyAndFigures,
): PartQuery[] {
  return days.map(({ sign, from, to }) =>
    db
      .selectFrom(sql<object>`${sql.id(sqlFunction)}(${request.date}, ${from}, ${to})`.as('day'))
      .where(matchesCountryAndCurrency(request))
      .select([sql.lit(sign).as('sign'), ...columns])
      .$castTo<PartialTotals>(),
  )
}

/** Returns the query for the groups with the highest revenue and then the rest, as one row. */
function rankGroups(db: Kysely<Tables>, parts: PartQuery[], digits: number) {
  return (
    db
      .with('parts', () => parts.reduce((all, others) => all.unionAll(others)))
      // One row for each customer or product.
      .with('groups', (query) =>
        query
          .selectFrom('parts')
          .groupBy('key')
          .select('key')
          .select(
            breakdownFigures.map((name) => sql<string>`sum(sign * ${sql.ref(name)})`.as(name)),
          ),
      )
      .with('ranked', (query) =>
        query
          .selectFrom('groups')
          .where('counted', '>', '0')
          .selectAll()
          .select(
            sql<string>`row_number() over (order by round(revenue, ${digits}) desc, key)`.as(
              'rank',
            ),
          ),
      )
      // The first groups stay as they are. The others become one row after them, without a key.
      .with('listed', (query) =>
        query
          .selectFrom('ranked')
          .select([
            sql<string>`least(rank, ${sql.lit(maxListedGroups + 1)})`.as('listed_rank'),
            sql<string | null>`case when rank <= ${sql.lit(maxListedGroups)} then key end`.as(
              'listed_key',
            ),
          ])
          .select(({ fn }) => fn.countAll<string>().as('groupCount'))
          .select(({ fn }) => breakdownFigures.map((name) => fn.sum<string>(name).as(name)))
          .groupBy(['listed_rank', 'listed_key']),
      )
      .selectFrom('listed')
      .select(sql<string | null>`listed_key::text`.as('key'))
      .select(['groupCount', 'counted', 'accepted', 'unconverted'])
      .select(sql<string>`round(revenue, ${digits})`.as('revenue'))
      .orderBy('listed_rank')
  )
}
