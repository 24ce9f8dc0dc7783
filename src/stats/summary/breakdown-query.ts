// The queries for the customers and the products with the highest revenue. Whole years and months
// come from the summary, so their cost depends on the number of customers or products. Only the
// days of a month that is covered in part are computed from the quotes.
import { type AliasedRawBuilder, type Kysely, type RawBuilder, sql } from 'kysely'
import type { ProductGrain, Tables } from '../../database/table-types.ts'
import { type DatedRequest, maxListedGroups } from '../schema.ts'
import { coverWithYears, type DateRange, type GrainRange } from './summary-grains.ts'
import { cellsOfRange, matchesCountryAndCurrency, rangesOf } from './summary-query.ts'

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

/** The SQL of the key and of each figure, as the tables of the summary have them. */
type KeyAndFigures = AliasedRawBuilder<unknown, 'key' | BreakdownFigure>[]

/** Returns the first customers by revenue, then by id, and the rest as one row. */
export function readCustomerRows(
  db: Kysely<Tables>,
  request: DatedRequest,
  range: DateRange,
  { digits }: BaseCurrency,
): Promise<BreakdownRow[]> {
  const columns: KeyAndFigures = [
    sql`customer_id`.as('key'),
    sql`quotes`.as('counted'),
    sql`accepted`.as('accepted'),
    sql`won_net`.as('revenue'),
    sql`unconverted`.as('unconverted'),
  ]
  const parts = selectParts(db, request, splitForBreakdown(range), {
    table: 'customer_figures',
    ofDays: 'customer_figures_between',
    columns,
  })
  return rankGroups(db, parts, digits)
    .leftJoin('customers', 'customers.id', 'listed.listed_key')
    .select('customers.name')
    .execute()
}

/** Returns the first products by revenue, then by SKU, and the rest as one row. */
export function readProductRows(
  db: Kysely<Tables>,
  request: DatedRequest,
  range: DateRange,
  { currency, digits }: BaseCurrency,
): Promise<BreakdownRow[]> {
  const columns: KeyAndFigures = [
    sql`sku`.as('key'),
    sql`lines`.as('counted'),
    sql`0`.as('accepted'),
    // In the base currency. Quotes in that currency need no rate. The summary of products does not
    // know the base currency, so it is compared here.
    sql`case when currency = ${currency} then own_net else rated_net end`.as('revenue'),
    sql`case when currency = ${currency} then 0 else unrated_lines end`.as('unconverted'),
  ]
  const { ranges, days } = splitForBreakdown(range)
  // Rows over all countries are fewer, but they cannot be filtered by country.
  const suffix = request.country === undefined ? '_total' : ''
  const rows = ranges.map((part) => ({ ...part, grain: `${part.grain}${suffix}` as const }))
  const parts = selectParts(
    db,
    request,
    { ranges: rows, days },
    {
      table: 'product_figures',
      ofDays: 'product_figures_between',
      columns,
    },
  )
  return rankGroups(db, parts, digits)
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

/** Selects the rows of years and months from the summary, and those of days from the quotes. */
function selectParts(
  db: Kysely<Tables>,
  request: DatedRequest,
  { ranges, days }: { ranges: GrainRange<ProductGrain>[]; days: GrainRange[] },
  source: {
    table: 'customer_figures' | 'product_figures'
    ofDays: 'customer_figures_between' | 'product_figures_between'
    columns: KeyAndFigures
  },
) {
  const select = (rows: RawBuilder<Record<string, string>>, of: GrainRange<string>[]) =>
    db
      .selectFrom(rangesOf(of))
      .innerJoinLateral(rows.as('part'), (join) => join.onTrue())
      .where(matchesCountryAndCurrency(request))
      .select(['range.sign', ...source.columns])
  const stored = cellsOfRange<Record<string, string>>(source.table, request)
  const computed = sql<Record<string, string>>`${sql.id(source.ofDays)}(
    ${request.date}, range.first, range.last)`
  return select(stored, ranges).unionAll(select(computed, days))
}

/** Returns the query for the groups with the highest revenue and then the rest, as one row. */
function rankGroups(db: Kysely<Tables>, parts: ReturnType<typeof selectParts>, digits: number) {
  return (
    db
      .with('parts', () => parts)
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
