// The queries for the customers and the products with the highest revenue. Whole years and months
// come from the summary, so their cost depends on the number of customers or products. Only the
// days of a month that is covered in part are computed from the quotes.
import { type Expression, type Kysely, type SqlBool, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import type { StatsRequest } from '../schema.ts'
import { type DateRange, type GrainRange, splitForBreakdown } from './summary-grains.ts'

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
/** SQL that selects key, counted, accepted, net and unconverted. */
type Cells = Expression<unknown>

/** Returns the first 50 customers by revenue, then by id, and the rest. */
export function queryCustomers(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  base: BaseCurrency,
): Promise<BreakdownRow[]> {
  const { cells, days } = splitForBreakdown(range)
  const columns = (sign: string) =>
    sql.raw(`customer_id as key, ${sign}quotes as counted,
    ${sign}accepted as accepted, ${sign}base_net as net, ${sign}unconverted as unconverted`)
  const all = sql`
    select ${columns('')} from current_customer_figures
    where date_kind = ${request.date} and ${isWithin(cells)} and ${matches(request)}
    ${unionDays(days, (sign, from, to) => {
      return sql`select ${columns(sign)}
        from customer_figures_between(${request.date}, ${from}, ${to}) where ${matches(request)}`
    })}`
  return queryPlaces(db, all, sql`customers on customers.id = key`, base)
}

/** Returns the first 50 products by revenue, then by SKU, and the rest. */
export function queryProducts(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  base: BaseCurrency,
): Promise<BreakdownRow[]> {
  const { cells, days } = splitForBreakdown(range)
  const columns = (sign: string) => sql`sku collate "C" as key, ${sql.raw(sign)}lines as counted,
    0 as accepted,
    ${sql.raw(sign)}case when currency = ${base.currency} then net else rated_net end as net,
    ${sql.raw(sign)}case when currency = ${base.currency} then 0 else unrated_lines end
      as unconverted`
  // Rows over all countries are few, but they cannot be filtered by country.
  const rows =
    request.country === undefined
      ? sql`country = '' and ${isWithin(cells.map(toTotals))}`
      : isWithin(cells)
  const all = sql`
    select ${columns('')} from current_product_figures
    where date_kind = ${request.date} and ${rows} and ${matches(request)}
    ${unionDays(days, (sign, from, to) => {
      return sql`select ${columns(sign)}
        from product_figures_between(${request.date}, ${from}, ${to}) where ${matches(request)}`
    })}`
  return queryPlaces(db, all, sql`products on products.sku = key collate "default"`, base)
}

/** Adds up the cells of each key. `names` is the table that has the name of a key. */
async function queryPlaces(
  db: Kysely<Tables>,
  cells: Cells,
  names: Expression<unknown>,
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

/** Adds the figures of days to a query, or subtracts them. */
function unionDays(
  days: (DateRange & { sign: 1 | -1 })[],
  select: (sign: string, from: string, to: string) => Expression<unknown>,
) {
  const selects = days.map(
    ({ sign, from, to }) => sql`union all ${select(sign === 1 ? '' : '-', from, to)}`,
  )
  return selects.length === 0 ? sql`` : sql.join(selects, sql` `)
}

const toTotals = ({ grain, from, to }: GrainRange) => ({ grain: `${grain}_total`, from, to })

/** The condition that a row lies in one of the ranges. */
function isWithin(ranges: (DateRange & { grain: string })[]) {
  if (ranges.length === 0) return sql<SqlBool>`false`
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
