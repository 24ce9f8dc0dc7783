// Reads the customers or products with the highest revenue, if the request asks for them. Whole
// years and months come from the summary, so their cost depends on the number of customers or
// products. Only the days of a month that is covered in part are computed from the quotes.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Company } from '../../company/company-file.ts'
import { requireCurrencyDigits } from '../../company/currencies.ts'
import type { Tables } from '../../database/table-types.ts'
import { type DatedRequest, maxListedGroups, type Stats } from '../schema.ts'
import { coverRange, type DateRange, type GrainRange } from './summary-grains.ts'
import { cellsOfRange, matchesFilters, rangesOf } from './summary-query.ts'

/** What is added up for each customer or product. */
const figures = ['counted', 'accepted', 'revenue', 'unconverted'] as const
type Figure = (typeof figures)[number]

/** Where the figures of customers or products are, as SQL. */
type Source = {
  table: 'customer_figures' | 'product_figures'
  /** The function that computes them for single days. */
  ofDays: 'customer_figures_between' | 'product_figures_between'
  /** The rows over all countries, if there are any, are fewer. */
  totalSuffix: '' | '_total'
  columns: Record<'key' | Figure, RawBuilder<string>>
  /** The name of `listed_key` as it is now. */
  name: RawBuilder<string | null>
}

const customers: Source = {
  table: 'customer_figures',
  ofDays: 'customer_figures_between',
  totalSuffix: '',
  columns: {
    key: sql`customer_id`,
    counted: sql`quotes`,
    accepted: sql`accepted`,
    revenue: sql`won_net`,
    unconverted: sql`unconverted`,
  },
  name: sql`(select name from customers where id = listed_key)`,
}

/** The summary of products does not know the base currency. Quotes in it need no rate. */
const productsIn = (currency: string): Source => ({
  table: 'product_figures',
  ofDays: 'product_figures_between',
  totalSuffix: '_total',
  columns: {
    key: sql`sku`,
    counted: sql`lines`,
    accepted: sql`0`,
    revenue: sql`case when currency = ${currency} then own_net else rated_net end`,
    unconverted: sql`case when currency = ${currency} then 0 else unrated_lines end`,
  },
  // The collation of the index on products.sku, which another one could not use.
  name: sql`(select name from products where sku = listed_key collate "default")`,
})

/**
 * Returns the customers or products of a range, both ends included. Returns no property without
 * `by`, and with `by=day`. The summary stores the key 0 for quotes without a customer, and an empty
 * one for lines without a SKU.
 */
export async function readBreakdown(
  db: Kysely<Tables>,
  { baseCurrency: currency }: Company,
  request: DatedRequest,
  range: DateRange,
): Promise<Pick<Stats, 'byCustomer' | 'byProduct'>> {
  const digits = requireCurrencyDigits(currency)
  const moneyOf = ({ revenue, unconverted }: BreakdownRow) => ({
    revenue: { amount: revenue, currency },
    unconverted: Number(unconverted),
  })
  if (request.by === 'customer') {
    const { listed, rest } = await readGroups(db, request, { range, source: customers, digits })
    const totalsOf = (row: BreakdownRow) => ({
      quotes: Number(row.counted),
      accepted: Number(row.accepted),
      ...moneyOf(row),
    })
    const rows = listed.map(({ key: id, name, ...row }) => ({
      customer: id === '0' ? null : { id, name },
      ...totalsOf(row),
    }))
    const others = rest && { customers: Number(rest.groups), ...totalsOf(rest) }
    return { byCustomer: { rows, rest: others } }
  }
  if (request.by === 'product') {
    const source = productsIn(currency)
    const { listed, rest } = await readGroups(db, request, { range, source, digits })
    const totalsOf = (row: BreakdownRow) => ({ lines: Number(row.counted), ...moneyOf(row) })
    const rows = listed.map(({ key: sku, name, ...row }) => ({
      product: sku === '' ? null : { sku, name },
      ...totalsOf(row),
    }))
    return {
      byProduct: { rows, rest: rest && { products: Number(rest.groups), ...totalsOf(rest) } },
    }
  }
  return {}
}

/**
 * Totals. `counted` is the number of quotes of customers, or of lines of products, and `groups` that
 * of the customers or products. Amounts are in the base currency.
 */
type BreakdownRow = Record<Figure | 'groups', string>

/** Returns the first groups by revenue, then by key, and all others together. */
async function readGroups(
  db: Kysely<Tables>,
  request: DatedRequest,
  { range, source, digits }: { range: DateRange; source: Source; digits: number },
) {
  const rows = await db
    .with('parts', () => selectParts(db, request, range, source))
    // One row for each customer or product.
    .with('totals', (query) =>
      query
        .selectFrom('parts')
        .groupBy('key')
        .select('key')
        .select(figures.map((name) => sql<string>`sum(sign * ${sql.ref(name)})`.as(name))),
    )
    .with('ranked', (query) =>
      query
        .selectFrom('totals')
        .where('counted', '>', '0')
        .selectAll()
        .select(
          sql<string>`row_number() over (order by round(revenue, ${digits}) desc, key)`.as('rank'),
        ),
    )
    // The first groups stay as they are. The others become one row after them, without a key.
    .with('listed', (query) =>
      query
        .selectFrom('ranked')
        .select([
          sql`least(rank, ${sql.lit(maxListedGroups + 1)})`.as('listed_rank'),
          sql`case when rank <= ${sql.lit(maxListedGroups)} then key end`.as('listed_key'),
        ])
        .select(({ fn }) => fn.countAll<string>().as('groups'))
        .select(({ fn }) => figures.map((name) => fn.sum<string>(name).as(name)))
        .groupBy(['listed_rank', 'listed_key']),
    )
    .selectFrom('listed')
    .select(sql<string | null>`listed_key::text`.as('key'))
    .select(source.name.as('name'))
    .select(['groups', 'counted', 'accepted', 'unconverted'])
    .select(sql<string>`round(revenue, ${digits})`.as('revenue'))
    .orderBy('listed_rank')
    .execute()
  return {
    listed: rows.flatMap((row) => (row.key === null ? [] : [{ ...row, key: row.key }])),
    rest: rows.find(({ key }) => key === null) ?? null,
  }
}

/** Selects the rows of years and months from the summary, and those of days from the quotes. */
function selectParts(db: Kysely<Tables>, request: DatedRequest, range: DateRange, source: Source) {
  const { key, ...others } = source.columns
  const select = (rows: RawBuilder<unknown>, of: GrainRange[]) =>
    db
      .selectFrom(rangesOf(of))
      .innerJoinLateral(rows.$castTo<object>().as('part'), (join) => join.onTrue())
      .where(matchesFilters(request))
      .select(['range.sign', key.as('key')])
      .select(figures.map((name) => others[name].as(name)))
  const ranges = coverRange(range, ['year', 'month', 'day'])
  const suffix = request.country === undefined ? source.totalSuffix : ''
  const stored = ranges
    .filter(({ grain }) => grain !== 'day')
    .map((part) => ({ ...part, grain: `${part.grain}${suffix}` }))
  const computed = sql`${sql.id(source.ofDays)}(${request.date}, range.first, range.last)`
  return select(cellsOfRange(source.table, request), stored).unionAll(
    select(
      computed,
      ranges.filter(({ grain }) => grain === 'day'),
    ),
  )
}
