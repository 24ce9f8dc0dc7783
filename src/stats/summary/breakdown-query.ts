// The queries for the customers and the products with the highest revenue. Whole years and months
// come from the summary, so their cost depends on the number of customers or products. Only the
// days of a month that is covered in part are computed from the quotes.
import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import type { StatsRequest } from '../schema.ts'
import { isOfDateKind, isWithin, matches, signOf } from './row-conditions.ts'
import { type DateRange, type GrainRange, splitIntoYears } from './summary-grains.ts'

/** So many customers or products are listed. The others are one row. */
const maxPlaces = 50

/**
 * A customer or product, or the rest: then `key` and `name` are null and `keys` is how many there
 * are. `counted` is the number of quotes or lines. Amounts are in the base currency.
 */
export type BreakdownRow = {
  key: string | null
  name: string | null
  keys: string
  counted: string
  accepted: string
  revenue: string
  unconverted: string
}

type BaseCurrency = { currency: string; digits: number }

/** A part of the figures of a customer or product. Parts with sign -1 are subtracted. */
type Cell = Record<(typeof values)[number], string> & { sign: number; key: string }
const values = ['counted', 'accepted', 'net', 'unconverted'] as const

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
  const cells = db
    .selectFrom('current_customer_figures')
    .where(isWithin(ranges, isOfDateKind(request)))
    .where(matches(request))
    .select((row) => [signOf(ranges)(row).as('sign'), ...columns])
    .$castTo<Cell>()
  const cellsOfDays = days.map(({ sign, from, to }) =>
    db
      .selectFrom(
        sql<CustomerDay>`customer_figures_between(${request.date}, ${from}, ${to})`.as('day'),
      )
      .where(matches(request))
      .select([sql.lit(sign).as('sign'), ...columns])
      .$castTo<Cell>(),
  )
  return selectPlaces(db, unite(cells, cellsOfDays), digits)
    .leftJoin('customers', 'customers.id', 'places.key')
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
  const rows = request.country === undefined ? ranges.map(toTotals) : ranges
  const columns = [
    sql<string>`sku collate "C"`.as('key'),
    'lines as counted',
    sql<string>`0`.as('accepted'),
    sql<string>`case when currency = ${currency} then net else rated_net end`.as('net'),
    sql<string>`case when currency = ${currency} then 0 else unrated_lines end`.as('unconverted'),
  ] as const
  const cells = db
    .selectFrom('current_product_figures')
    .where(isWithin(rows, isOfDateKind(request)))
    .where(matches(request))
    .select((row) => [signOf(rows)(row).as('sign'), ...columns])
    .$castTo<Cell>()
  const cellsOfDays = days.map(({ sign, from, to }) =>
    db
      .selectFrom(
        sql<ProductDay>`product_figures_between(${request.date}, ${from}, ${to})`.as('day'),
      )
      .where(matches(request))
      .select([sql.lit(sign).as('sign'), ...columns])
      .$castTo<Cell>(),
  )
  return selectPlaces(db, unite(cells, cellsOfDays), digits)
    .leftJoin('products', (join) =>
      join.on('products.sku', '=', sql<string>`key collate "default"`),
    )
    .select('products.name')
    .execute()
}
type ProductDay = Omit<Tables['product_figures'], 'grain' | 'date_kind' | 'starts_on'>

/** Splits a range into rows of years and months, and single days. */
function splitForBreakdown(range: DateRange): { ranges: GrainRange[]; days: GrainRange[] } {
  const parts = splitIntoYears(range)
  return {
    ranges: parts.filter(({ grain }) => grain !== 'day'),
    days: parts.filter(({ grain }) => grain === 'day'),
  }
}

const toTotals = ({ grain, ...range }: GrainRange): GrainRange => ({
  ...range,
  grain: grain === 'year' ? 'year_total' : 'month_total',
})

type Cells = SelectQueryBuilder<Tables, never, Cell>

function unite(first: Cells, others: Cells[]): Cells {
  return others.reduce((all, cells) => all.unionAll(cells), first)
}

/** Adds up the cells of each key, and gives the first 50 keys and the rest a place. */
function selectPlaces(db: Kysely<Tables>, cells: Cells, digits: number) {
  const isListed = sql<boolean>`place <= ${sql.lit(maxPlaces)}`
  return db
    .with('cells', () => cells)
    .with('groups', (query) =>
      query
        .selectFrom('cells')
        .groupBy('key')
        .select('key')
        .select(values.map((name) => sql<string>`sum(sign * ${sql.ref(name)})`.as(name))),
    )
    .with('ranked', (query) =>
      query
        .selectFrom('groups')
        .where('counted', '>', '0')
        .selectAll()
        .select(
          sql<string>`row_number() over (order by round(net, ${digits}) desc, key)`.as('place'),
        ),
    )
    .with('places', (query) =>
      query
        .selectFrom('ranked')
        .groupBy([sql`1`, sql`2`])
        .select([
          sql<string>`least(place, ${sql.lit(maxPlaces + 1)})`.as('place'),
          sql<string | null>`case when ${isListed} then key end`.as('key'),
        ])
        .select(({ fn }) => fn.countAll<string>().as('keys'))
        .select(({ fn }) => values.map((name) => fn.sum<string>(name).as(name))),
    )
    .selectFrom('places')
    .select([sql<string | null>`key::text`.as('key'), 'keys', 'counted', 'accepted', 'unconverted'])
    .select(sql<string>`round(net, ${digits})`.as('revenue'))
    .orderBy('place')
}
