// The queries for the customers and the products with the highest revenue. Whole years and months
// come from the summary, so their cost depends on the number of customers or products. Only the
// days of a month that is covered in part are computed from the quotes.
import { type Expression, type Kysely, type SqlBool, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import type { StatsRequest } from '../schema.ts'
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
type Sql = Expression<unknown>

/** Returns the first 50 customers by revenue, then by id, and the rest. */
export function queryCustomers(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  base: BaseCurrency,
): Promise<BreakdownRow[]> {
  const cells = selectCells(request, range, {
    columns: (sign) =>
      sql.raw(`customer_id as key, ${sign}quotes as counted, ${sign}accepted as accepted,
        ${sign}base_net as net, ${sign}unconverted as unconverted`),
    fromSummary: (ranges) => sql`current_customer_figures where ${isWithin(ranges)}`,
    ofDays: sql`customer_figures_between`,
  })
  return queryPlaces(db, cells, sql`customers on customers.id = key`, base)
}

/** Returns the first 50 products by revenue, then by SKU, and the rest. */
export function queryProducts(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  base: BaseCurrency,
): Promise<BreakdownRow[]> {
  const isBase = sql`currency = ${base.currency}`
  const cells = selectCells(request, range, {
    columns(text) {
      const sign = sql.raw(text)
      return sql`sku collate "C" as key, ${sign}lines as counted, 0 as accepted,
        ${sign}case when ${isBase} then net else rated_net end as net,
        ${sign}case when ${isBase} then 0 else unrated_lines end as unconverted`
    },
    // Rows over all countries are few, but they cannot be filtered by country.
    fromSummary: (ranges) =>
      request.country === undefined
        ? sql`current_product_figures where country = '' and ${isWithin(ranges.map(toTotals))}`
        : sql`current_product_figures where ${isWithin(ranges)}`,
    ofDays: sql`product_figures_between`,
  })
  return queryPlaces(db, cells, sql`products on products.sku = key collate "default"`, base)
}

/** Where the figures of customers or of products are. */
type Figures = {
  /** SQL of key, counted, accepted, net and unconverted. `sign` is empty or a minus. */
  columns: (sign: string) => Sql
  /** The view, and the condition for rows of years and months. */
  fromSummary: (ranges: GrainRange[]) => Sql
  /** The function that computes figures of single days from the quotes. */
  ofDays: Sql
}

/** Selects what is added and subtracted for a range: years and months, and single days. */
function selectCells(
  request: StatsRequest,
  range: DateRange,
  { columns, fromSummary, ofDays }: Figures,
): Sql {
  const parts = splitIntoYears(range)
  const selects = ([1, -1] as const).flatMap((sign) => {
    const selected = columns(sign === 1 ? '' : '-')
    const signed = parts.filter((part) => part.sign === sign)
    const ranges = signed.filter(({ grain }) => grain !== 'day')
    const days = signed.filter(({ grain }) => grain === 'day')
    const rows = sql`select ${selected} from ${fromSummary(ranges)}
      and date_kind = ${request.date} and ${matches(request)}`
    return [
      ...(ranges.length > 0 ? [rows] : []),
      ...days.map(
        ({ from, to }) => sql`select ${selected} from ${ofDays}(${request.date}, ${from}, ${to})
          where ${matches(request)}`,
      ),
    ]
  })
  return sql.join(selects, sql` union all `)
}

/** Adds up the cells of each key. `names` is the table that has the name of a key. */
async function queryPlaces(
  db: Kysely<Tables>,
  cells: Sql,
  names: Sql,
  { digits }: BaseCurrency,
): Promise<BreakdownRow[]> {
  const isPlace = sql`place <= ${sql.lit(maxPlaces)}`
  const sumOf = (name: string) => sql`coalesce(sum(${sql.ref(name)}), 0) as ${sql.ref(name)}`
  const sums = sql.join(['counted', 'accepted', 'net', 'unconverted'].map(sumOf))
  const { rows } = await sql<BreakdownRow>`
    with cells as (${cells}),
    groups as (select key, ${sums} from cells group by key),
    ranked as (
      select *, row_number() over (order by round(net, ${digits}) desc, key) as place
      from groups where counted > 0
    ),
    places as (
      select least(place, ${sql.lit(maxPlaces + 1)}) as place,
        case when ${isPlace} then key end as key, count(*) as keys, ${sums}
      from ranked group by 1, 2
    )
    select key::text as key, name, keys, counted, accepted, round(net, ${digits}) as revenue,
      unconverted
    from places left join ${names}
    order by place
  `.execute(db)
  return rows
}

const toTotals = ({ grain, from, to }: GrainRange) => ({ grain: `${grain}_total`, from, to })

/** The condition that a row lies in one of the ranges. */
function isWithin(ranges: (DateRange & { grain: string })[]) {
  const conditions = ranges.map(
    ({ grain, from, to }) => sql`grain = ${grain} and starts_on >= ${from} and starts_on <= ${to}`,
  )
  return sql<SqlBool>`(${sql.join(conditions, sql` or `)})`
}

/** The conditions for the country and the currency, if the request has them. */
function matches({ country, currency }: StatsRequest) {
  const conditions = [
    ...(country === undefined ? [] : [sql`country = ${country === 'unknown' ? '' : country}`]),
    ...(currency === undefined ? [] : [sql`currency = ${currency}`]),
  ]
  return conditions.length === 0 ? sql<SqlBool>`true` : sql.join(conditions, sql` and `)
}
