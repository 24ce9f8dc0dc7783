// The query that reads the summary: totals of a period by country, by currency and by month. Its
// cost depends on the number of days, countries and currencies, not on the number of quotes.
import { type ExpressionBuilder, type Kysely, sql } from 'kysely'
import { getMonthBounds } from '../../company/calendar.ts'
import type { Tables } from '../../database/table-types.ts'
import type { StatsRequest } from '../schema.ts'
import {
  type DateRange,
  type GrainRange,
  splitIntoMonths,
  splitIntoYears,
} from './summary-grains.ts'

/** The values of quote_figures that are added up. */
const figures = [
  'drafts',
  'sent',
  'accepted',
  'rejected',
  'expired',
  'net',
  'base_net',
  'unconverted',
  'unconverted_net',
  'base_sent',
  'base_lost',
  'decided',
  'decision_days',
  'decision_histogram',
] as const
/** The values of quote_validity: sent quotes that are still valid, and their net. */
const validity = ['valid', 'base_valid'] as const
const values = [...figures, ...validity]

/** The sums over a group of quotes that both queries return. */
export type SummaryRow = Omit<Awaited<ReturnType<typeof queryMonths>>[number], 'month'>

/**
 * Returns the totals of each month with quotes, in order. Counts and amounts are decimal text.
 * Amounts are in the base currency.
 */
export function queryMonths(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  baseDigits: number,
) {
  const ofAllCountries = request.country === undefined
  return db
    .with('cells', () => selectCells(db, request, splitIntoMonths(range, { ofAllCountries })))
    .with('groups', (query) =>
      query.selectFrom('cells').groupBy('month').select('month').select(values.map(sumOf)),
    )
    .selectFrom('groups')
    .where(quoteCount, '>', '0')
    .select(sql<string>`to_char(month, 'YYYY-MM')`.as('month'))
    .select([...values, ...outcomesIn(baseDigits)])
    .orderBy('groups.month')
    .execute()
}

/**
 * The value of `grouping(country, currency)`, in which a bit is set for each column that a row is
 * not grouped by.
 */
export const groupLevels = { total: 0b11, country: 0b01, currency: 0b10 }

/**
 * Returns the total, the totals of each country and those of each currency that has quotes: by
 * revenue, then by country with the unknown one last, and by currency. `own_net` and
 * `own_unconverted_net` are in the currency of the row.
 */
export function queryCountriesAndCurrencies(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  baseDigits: number,
) {
  return (
    db
      .with('cells', () => selectCells(db, request, splitIntoYears(range)))
      .with('pairs', (query) =>
        query
          .selectFrom('cells')
          .groupBy(['country', 'currency'])
          .select(['country', 'currency'])
          .select(values.map(sumOf)),
      )
      // Grouping the few pairs again costs almost nothing. Three grouping sets of cells would add
      // each of them three times.
      .with('groups', (query) =>
        query
          .selectFrom('pairs')
          .groupBy(sql`grouping sets ((), (country), (currency))`)
          .select(sql<number>`grouping(country, currency)`.as('level'))
          .select(['country', 'currency'])
          .select(values.map(sumOf)),
      )
      .selectFrom('groups')
      .leftJoin('currencies', 'currencies.code', 'groups.currency')
      .where(quoteCount, '>', '0')
      .select(['level', 'currency', ...values, ...outcomesIn(baseDigits)])
      .select([
        sql<string | null>`nullif(country, '')`.as('country'),
        sql<string>`round(net, digits)`.as('own_net'),
        sql<string>`round(unconverted_net, digits)`.as('own_unconverted_net'),
      ])
      .orderBy('base_net', 'desc')
      .orderBy(sql`nullif(country, '')`, (order) => order.asc().nullsLast())
      .orderBy('currency')
      .execute()
  )
}

/** Money by outcome in the base currency. A sent quote that is no longer valid is lost. */
const outcomesIn = (baseDigits: number) =>
  [
    sql<string>`round(base_valid, ${baseDigits})`.as('open'),
    sql<string>`round(base_net, ${baseDigits})`.as('won'),
    sql<string>`round(base_lost + base_sent - base_valid, ${baseDigits})`.as('lost'),
  ] as const

/**
 * Returns the first and the last day of the range on which a quote counts, or null. `firstMonth`
 * and `lastMonth` (YYYY-MM) are the first and the last month of the range with quotes.
 */
export async function queryDateRange(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  months: [firstMonth: string, lastMonth: string],
): Promise<{ first: string | null; last: string | null }> {
  const days = months.map(getMonthBounds).map(({ first, last }): GrainRange => {
    const [from, to] = [first > range.from ? first : range.from, last < range.to ? last : range.to]
    return { grain: request.country === undefined ? 'day_total' : 'day', from, to }
  })
  const daysWithQuotes = db
    .selectFrom('current_figures')
    .where('date_kind', '=', request.date)
    .where(isWithin(days))
    .where(matches(request))
    .groupBy('starts_on')
    .having(sql`sum(${quoteCount})`, '>', 0)
    .select('starts_on')
  return db
    .selectFrom(daysWithQuotes.as('days'))
    .select(({ fn }) => [fn.min('starts_on').as('first'), fn.max('starts_on').as('last')])
    .executeTakeFirstOrThrow()
}

const quoteCount = sql<string>`drafts + sent + accepted + rejected + expired`

/** The sum of a value. Adding a zero costs as much as adding any other number, so it is skipped. */
function sumOf(name: (typeof values)[number]) {
  const value = sql.ref(name)
  return sql<string>`coalesce(sum(${value}) filter (where ${value} <> 0), 0)`.as(name)
}

type Cell = Record<(typeof values)[number], string> & {
  month: string | null
  country: string | null
  currency: string | null
}

/** Selects the rows of the summary that together cover the ranges, with the month of each. */
function selectCells(db: Kysely<Tables>, request: StatsRequest, ranges: GrainRange[]) {
  const cells = selectFigures(db, request, ranges)
  // By day of acceptance there are only accepted quotes, and only sent ones are valid or not.
  return request.date === 'issued' ? cells.unionAll(selectValidity(db, request, ranges)) : cells
}

function selectFigures(db: Kysely<Tables>, request: StatsRequest, ranges: GrainRange[]) {
  return db
    .selectFrom('current_figures')
    .where('date_kind', '=', request.date)
    .where(isWithin(ranges))
    .where(matches(request))
    .select([monthOfRow, 'country', 'currency', ...figures])
    .select(validity.map((name) => sql<string>`0`.as(name)))
    .$castTo<Cell>()
}

/** A sent quote is valid to the end of its last day, and always without one. */
function selectValidity(db: Kysely<Tables>, request: StatsRequest, ranges: GrainRange[]) {
  const daysAndMonths = ranges.map(({ grain, ...range }): GrainRange => {
    return { ...range, grain: grain.startsWith('day') ? 'day' : 'month' }
  })
  return db
    .selectFrom('current_validity')
    .where('valid_until', '>=', request.today)
    .where(isWithin(daysAndMonths))
    .where(matches(request))
    .select([monthOfRow, 'country', 'currency'])
    .select(figures.map((name) => sql<string>`0`.as(name)))
    .select(['quotes as valid', 'base_net as base_valid'])
    .$castTo<Cell>()
}

const monthOfRow = sql<string | null>`date_trunc('month', starts_on)::date`.as('month')

type SummaryView = ExpressionBuilder<Tables, 'current_figures' | 'current_validity'>

/** The condition that a row lies in one of the ranges. One condition is planned once. */
const isWithin =
  (ranges: GrainRange[]) =>
  ({ or, and, eb }: SummaryView) =>
    or(
      ranges.map(({ grain, from, to }) =>
        and([eb('grain', '=', grain), eb('starts_on', '>=', from), eb('starts_on', '<=', to)]),
      ),
    )

/** The conditions for the country and the currency, if the request has them. */
function matches({ country, currency }: StatsRequest) {
  // An unknown country is stored as an empty text, because a primary key cannot contain null.
  const countryKey = country === 'unknown' ? '' : country
  return ({ and, eb }: SummaryView) =>
    and([
      ...(countryKey === undefined ? [] : [eb('country', '=', countryKey)]),
      ...(currency === undefined ? [] : [eb('currency', '=', currency)]),
    ])
}
