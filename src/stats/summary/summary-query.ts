// The SQL that reads the summary: folded rows by month and by day, and the deltas not folded yet.
// The cost depends on the number of days, countries and currencies, not on the number of quotes.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import type { StatsRequest } from '../schema.ts'
import { type DateRange, lastOfMonth, splitIntoGrains } from './summary-grains.ts'

/**
 * The level of a row: the value of `grouping(country, currency)`, in which a bit is set for each
 * column that the row is not grouped by. Rows of months have a level of their own.
 */
export const summaryLevels = { total: 0b11, country: 0b01, currency: 0b10, month: -1 }

export type SummaryRow = {
  level: number
  month: string | null
  country: string | null
  currency: string | null
  quotes: string
  drafts: string
  sent: string
  accepted: string
  rejected: string
  expired: string
  /** Sent quotes that are still valid today, over the whole range; the same number in every row. */
  stillValid: string
  revenue: string
  net: string | null
  unconverted: string
  unconvertedNet: string | null
}

const measureNames = [
  'drafts',
  'sent',
  'accepted',
  'rejected',
  'expired',
  'net',
  'base_net',
  'unconverted',
  'unconverted_net',
]
const measures = sql.raw(measureNames.join(', '))
const summedMeasures = sql.raw(measureNames.map(sumOf).join(', '))
const quoteCount = sql`drafts + sent + accepted + rejected + expired`

/** The filter skips zeros: adding a zero to a numeric costs as much as adding any other number. */
function sumOf(name: string): string {
  const filter = name === 'unconverted_net' ? ' filter (where unconverted <> 0)' : ''
  return `sum(${name})${filter} as ${name}`
}

/** Returns one row for each level, month, country and currency with quotes, by revenue. */
export async function querySummary(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  baseDigits: number | undefined,
): Promise<SummaryRow[]> {
  const digits = sql`${baseDigits}::integer`
  const stillValid =
    request.date === 'issued' ? sumStillValid(request, range) : sql`select 0 as quotes`
  // The number of (country, currency) pairs is small, so the second step costs almost nothing.
  // Four grouping sets in the first step would read every row once for each set.
  const { rows } = await sql<SummaryRow>`
    with months_and_pairs as (
      select grouping(month) as is_pair, month, country, currency, ${summedMeasures}
      from (${selectCells(request, range)}) cells
      group by grouping sets ((month), (country, currency))
    ), sums as (
      select grouping(country, currency) as level, null::date as month, country, currency,
        sum(${quoteCount}) as quotes, ${summedMeasures}
      from months_and_pairs where is_pair = 1
      group by grouping sets ((), (country), (currency))
      union all
      select ${summaryLevels.month}, month, null, null, ${quoteCount}, ${measures}
      from months_and_pairs where is_pair = 0
    ), still_valid as (${stillValid})
    select level, to_char(month, 'YYYY-MM') as month, nullif(country, '') as country, currency,
      s.quotes, drafts, sent, accepted, rejected, expired, still_valid.quotes as "stillValid",
      round(base_net, ${digits}) as revenue, round(net, currency_digits(currency)) as net,
      unconverted, round(unconverted_net, currency_digits(currency)) as "unconvertedNet"
    from sums s cross join still_valid
    where s.quotes > 0
    order by base_net desc, nullif(country, '') nulls last, month, currency
  `.execute(db)
  return rows
}

/**
 * Returns the first and the last day with a quote. A folded day without unfolded deltas has quotes,
 * so an index finds the first and last of these days. Days with deltas may be empty by now, so they
 * are counted. The bounds from the month rows keep the index scan short for rare countries.
 */
export async function querySummaryDateRange(
  db: Kysely<Tables>,
  request: StatsRequest,
): Promise<{ first: string | null; last: string | null }> {
  const matches = matchesRequest(request)
  const ofMonths = sql`from quote_figures where grain = 'month' and ${matches}`
  const firstMonth = sql`(select min(starts_on) ${ofMonths})`
  const lastMonth = sql`(select max(starts_on) ${ofMonths})`
  const dayWithoutDeltas = (bound: RawBuilder<unknown>, order: RawBuilder<unknown>) => sql`
    select starts_on from quote_figures f
    where grain = 'day' and ${matches} and ${bound}
      and not exists (select from quote_deltas d where ${matches} and d.day = f.starts_on)
    order by starts_on ${order} limit 1`
  const first = dayWithoutDeltas(sql`starts_on >= ${firstMonth}`, sql`asc`)
  const last = dayWithoutDeltas(sql`starts_on < ${lastMonth} + interval '1 month'`, sql`desc`)
  const { rows } = await sql<{ first: string | null; last: string | null }>`
    with days_with_deltas as (
      select day from quote_deltas d where ${matches}
      group by day having sum(${quoteCount}) + coalesce((
        select sum(${quoteCount}) from quote_figures
        where grain = 'day' and ${matches} and starts_on = d.day
      ), 0) > 0
    )
    select
      least((${first}), (select min(day) from days_with_deltas)) as first,
      greatest((${last}), (select max(day) from days_with_deltas)) as last
  `.execute(db)
  return rows[0] ?? { first: null, last: null }
}

/** The condition for the kind of date, the country and the currency. */
function matchesRequest(request: StatsRequest) {
  return sql`date_kind = ${request.date} ${matchesFilters(request)}`
}

/** The conditions for the country and the currency; empty without them. */
function matchesFilters({ country, currency }: StatsRequest) {
  const matchesCountry = country === undefined ? sql`` : sql`and country = ${countryKey(country)}`
  const matchesCurrency = currency === undefined ? sql`` : sql`and currency = ${currency}`
  return sql`${matchesCountry} ${matchesCurrency}`
}

/** An unknown country is stored as an empty text, because a primary key cannot contain null. */
const countryKey = (country: string) => (country === 'unknown' ? '' : country)

function selectCells(request: StatsRequest, range: DateRange) {
  const matches = matchesRequest(request)
  const folded = splitIntoGrains(range).map(({ grain, from, to }) => {
    const month = grain === 'month' ? sql`starts_on` : monthOf(sql`starts_on`)
    return sql`
      select ${month} as month, country, currency, ${measures} from quote_figures
      where grain = ${grain} and ${matches} and starts_on between ${from} and ${to}`
  })
  const unfolded = sql`
      select ${monthOf(sql`day`)} as month, country, currency, ${measures} from quote_deltas
      where ${matches} and day between ${range.from} and ${range.to}`
  return sql.join([...folded, unfolded], sql` union all `)
}

const monthOf = (day: RawBuilder<unknown>) => sql`date_trunc('month', ${day}::timestamp)::date`

/**
 * Counts the sent quotes that are still valid today. They are few, whereas the number of lapsed
 * quotes grows every year. Validity is read by month for later months and by day for the current
 * month. Quotes without a last valid day are stored under infinity.
 */
function sumStillValid(request: StatsRequest, range: DateRange) {
  const { today } = request
  const endOfMonth = lastOfMonth(today)
  const validConditions = [
    sql`valid_grain = 'month' and valid_from > ${endOfMonth}`,
    sql`valid_grain = 'day' and valid_from between ${today} and ${endOfMonth}`,
  ]
  const folded = splitIntoGrains(range).flatMap(({ grain, from, to }) =>
    validConditions.map(
      (isValid) => sql`
        select quotes from quote_validity
        where issued_grain = ${grain} and ${isValid} and issued_from between ${from} and ${to}
          ${matchesFilters(request)}`,
    ),
  )
  const unfolded = sql`
    select sent from quote_deltas
    where ${matchesRequest(request)} and day between ${range.from} and ${range.to}
      and coalesce(valid_until, 'infinity') >= ${today}`
  const sentQuotes = sql.join([...folded, unfolded], sql` union all `)
  return sql`select coalesce(sum(quotes), 0) as quotes from (${sentQuotes}) sent_quotes`
}
