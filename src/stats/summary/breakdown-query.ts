// The queries for the customers and the products with the highest revenue. Whole years and months
// come from the summary, so their cost depends on the number of customers or products. Only the
// days of a month that is covered in part are computed from the quotes.
import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import type { StatsRequest } from '../schema.ts'
import { isOfDateKind, isWithin, matches, signOf } from './row-conditions.ts'
import { coverWithYears, type DateRange, type GrainRange } from './summary-grains.ts'

/** This many customers or products are listed. The others are one row. */
const maxListed = 50

/**
 * The figures of a customer or product, or of the rest: all others together. The rest has no `key`
 * and no `name`, and its `groupCount` is the number of customers or products in it. `counted` is
 * the number of quotes or of lines. Amounts are in the base currency.
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

type BaseCurrency = { currency: string; digits: number }

/** A part of the figures of a customer or product. Parts with sign -1 are subtracted. */
type PartialSum = Record<(typeof summedColumns)[number], string> & { sign: number; key: string }
const summedColumns = ['counted', 'accepted', 'net', 'unconverted'] as const

/** Returns the first 50 customers by revenue, then by id, and the rest. */
export function queryCustomers(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  { digits }: BaseCurrency,
): Promise<BreakdownRow[]> {
  const { ranges, days } = splitForBreakdown(range)
  const columns = [
    'customer_id as key',
    'quotes as counted',
    'accepted',
    'base_net as net',
    'unconverted',
  ] as const
  const sums = db
    .selectFrom('current_customer_figures')
    .where(isWithin(ranges, isOfDateKind(request)))
    .where(matches(request))
    .select((row) => [signOf(ranges)(row).as('sign'), ...columns])
    .$castTo<PartialSum>()
  const sumsOfDays = days.map(({ sign, from, to }) =>
    db
      .selectFrom(
        sql<CustomerDay>`customer_figures_between(${request.date}, ${from}, ${to})`.as('day'),
      )
      .where(matches(request))
      .select([sql.lit(sign).as('sign'), ...columns])
      .$castTo<PartialSum>(),
  )
  return rankGroups(db, unite(sums, sumsOfDays), digits)
    .leftJoin('customers', 'customers.id', 'listed.listed_key')
    .select('customers.name')
    .execute()
}
type CustomerDay = Omit<Tables['customer_figures'], 'grain' | 'date_kind' | 'starts_on'>

/** Returns the first 50 products by revenue, then by SKU, and the rest. */
export function queryProducts(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  { currency, digits }: BaseCurrency,
): Promise<BreakdownRow[]> {
  const { ranges, days } = splitForBreakdown(range)
  // Rows over all countries are few, but they cannot be filtered by country.
  const rows = request.country === undefined ? ranges.map(toTotalGrains) : ranges
  const columns = [
    sql<string>`sku collate "C"`.as('key'),
    'lines as counted',
    sql<string>`0`.as('accepted'),
    sql<string>`case when currency = ${currency} then net else rated_net end`.as('net'),
    sql<string>`case when currency = ${currency} then 0 else unrated_lines end`.as('unconverted'),
  ] as const
  const sums = db
    .selectFrom('current_product_figures')
    .where(isWithin(rows, isOfDateKind(request)))
    .where(matches(request))
    .select((row) => [signOf(rows)(row).as('sign'), ...columns])
    .$castTo<PartialSum>()
  const sumsOfDays = days.map(({ sign, from, to }) =>
    db
      .selectFrom(
        sql<ProductDay>`product_figures_between(${request.date}, ${from}, ${to})`.as('day'),
      )
      .where(matches(request))
      .select([sql.lit(sign).as('sign'), ...columns])
      .$castTo<PartialSum>(),
  )
  return rankGroups(db, unite(sums, sumsOfDays), digits)
    .leftJoin('products', (join) =>
      join.on('products.sku', '=', sql<string>`listed_key collate "default"`),
    )
    .select('products.name')
    .execute()
}
type ProductDay = Omit<Tables['product_figures'], 'grain' | 'date_kind' | 'starts_on'>

/** Splits a range into rows of years and months, and single days. */
function splitForBreakdown(range: DateRange): { ranges: GrainRange[]; days: GrainRange[] } {
  const parts = coverWithYears(range)
  return {
    ranges: parts.filter(({ grain }) => grain !== 'day'),
    days: parts.filter(({ grain }) => grain === 'day'),
  }
}

const toTotalGrains = ({ grain, ...range }: GrainRange): GrainRange => ({
  ...range,
  grain: grain === 'year' ? 'year_total' : 'month_total',
})

type PartialSums = SelectQueryBuilder<Tables, never, PartialSum>

function unite(first: PartialSums, others: PartialSums[]): PartialSums {
  return others.reduce((all, sums) => all.unionAll(sums), first)
}

/** Returns a query for the 50 groups with the highest revenue and the rest, in this order. */
function rankGroups(db: Kysely<Tables>, sums: PartialSums, digits: number) {
  return (
    db
      .with('partial_sums', () => sums)
      // One row for each customer or product.
      .with('groups', (query) =>
        query
          .selectFrom('partial_sums')
          .groupBy('key')
          .select('key')
          .select(summedColumns.map((name) => sql<string>`sum(sign * ${sql.ref(name)})`.as(name))),
      )
      .with('ranked', (query) =>
        query
          .selectFrom('groups')
          .where('counted', '>', '0')
          .selectAll()
          .select(
            sql<string>`row_number() over (order by round(net, ${digits}) desc, key)`.as('rank'),
          ),
      )
      // The first groups stay as they are. The others become one row after them, without a key.
      .with('listed', (query) =>
        query
          .selectFrom('ranked')
          .select([
            sql<string>`least(rank, ${sql.lit(maxListed + 1)})`.as('listed_rank'),
            sql<string | null>`case when rank <= ${sql.lit(maxListed)} then key end`.as(
              'listed_key',
            ),
          ])
          .select(({ fn }) => fn.countAll<string>().as('groupCount'))
          .select(({ fn }) => summedColumns.map((name) => fn.sum<string>(name).as(name)))
          .groupBy(['listed_rank', 'listed_key']),
      )
      .selectFrom('listed')
      .select(sql<string | null>`listed_key::text`.as('key'))
      .select(['groupCount', 'counted', 'accepted', 'unconverted'])
      .select(sql<string>`round(net, ${digits})`.as('revenue'))
      .orderBy('listed_rank')
  )
}
