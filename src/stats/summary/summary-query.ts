// The queries that read the summary: totals of a period by country, by currency, by month and by
// day. Their cost depends on the number of days, countries and currencies, not of quotes.
// summary-query.sql shows the statements that PostgreSQL gets for two typical requests.
//
// README.md in this folder explains the terms with an example, and names the SQL functions. Read it
// first.
//
// The columns that decide which rows are read:
//
//   date_kind         Whether quotes count by issue (`issued`) or acceptance (`accepted`).
//   grain of figures  What a row covers: a day, month or year of one country, or of all countries
//                     (`day_total`, `month_total`).
//   grain of current_validity
//     day             Sent quotes of a day of issue, by their last valid day.
//     month           Sent quotes of a month of issue, by their last valid day.
//     month_by_month  Sent quotes of a month of issue, by the month of their last valid day.
//                     `valid_until` is the last day of that month.
//
// The views that are read:
//
//   grouped_figures   quote_figures and quote_figures_unfolded. So it lacks only the rows of
//                     quote_changes.
//   changed_figures   The figures of the unfolded rows of quote_changes, by day.
//   current_figures   grouped_figures and changed_figures. The latter are repeated for each grain.
//   current_validity  The sent quotes by last valid day, folded or not.
//
// The totals need rows of several grains. They read grouped_figures and changed_figures separately,
// because PostgreSQL would compute the figures of each change again for each read of
// current_figures. queryDateRange needs only rows of single days, which are read once, so it reads
// current_figures.
import { type InferResult, type Kysely, type QueryCreator, sql } from 'kysely'
import { getMonthBounds } from '../../company/calendar.ts'
import type { Figures, Tables } from '../../database/table-types.ts'
import type { StatsRequest } from '../schema.ts'
import { isOfDateKind, isWithin, matchesCountryAndCurrency } from './row-conditions.ts'
import {
  coverValidityWithDays,
  coverValidityWithMonths,
  coverWithDays,
  coverWithMonths,
  coverWithYears,
  type DateRange,
  type GrainRange,
  groupBySign,
  type ValidityRange,
} from './summary-grains.ts'

/**
 * The columns of quote_figures that are added up. docs/statistics.md says how to add a figure. The
 * sum of a column keeps the name of the column up to the last step, `totalsColumns`. That step
 * gives the names of the response, such as `won` for `base_net`.
 *
 *     drafts              quotes with this status
 *     sent                quotes with this status, still valid or not
 *     open_quotes         sent quotes that are still valid: `sent` in the response
 *     accepted            quotes with this status
 *     rejected            quotes with this status
 *     expired             quotes with this status
 *     decided             accepted and rejected quotes with a day of decision: `decisionQuotes` in
 *                         the returned rows
 *     decision_days       the sum of the days from issue to decision
 *     decision_histogram  `decided` by these days, packed into one number (days-to-decision.ts)
 *     unconverted         accepted quotes without a rate
 *
 * In the base currency, without quotes that have no rate:
 *
 *     base_net            net of `accepted`
 *     base_sent           net of `sent`
 *     base_open           net of `open_quotes`
 *     base_lost           net of `rejected` and `expired`
 *
 * In the currency of the quotes, so that only rows with the same currency may be added up:
 *
 *     net                 net of `accepted`
 *     unconverted_net     net of `unconverted`
 *
 * `open_quotes` and `base_open` are the sums of `quotes` and `base_net` of current_validity.
 */
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
] as const satisfies (keyof Figures)[]
/** The sums of current_validity: the sent quotes that are still valid, and their net. */
const openColumns = ['open_quotes', 'base_open'] as const
const summedColumns = [...figures, ...openColumns]

/** What the quotes of a row have in common: nothing, a country, a currency or a month. */
export type SummaryLevel = 'total' | 'country' | 'currency' | 'month'

/** The sums over a group of quotes. Counts and amounts are decimal text. */
export type GroupRow = Omit<InferResult<ReturnType<typeof queryDays>>[number], 'day'>

/**
 * Returns the query for the total of the quotes in the range, and for the totals of each country,
 * currency and month. Groups without quotes are left out. Amounts are in the base currency, but
 * `ownNet` and `ownUnconvertedNet` are in the currency of the row. Currencies and countries are
 * ordered by revenue and then by code, with the unknown country last.
 *
 * Two accepted quotes, of 100 EUR from Spain and of 60 USD from an unknown country at a rate of
 * 0.5, both of January, give these rows among others:
 *
 *     level     country  currency  month    accepted  won      ownNet
 *     month     null     null      2026-01  2         130.00   null
 *     total     null     null      null     2         130.00   null
 *     country   null     null      null     1         30.00    null
 *     currency  null     USD       null     1         30.00    60.00
 */
export function queryTotals(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  baseDigits: number,
) {
  const query = db
    // Both of the next steps use it, so it is computed once.
    .with('changed_and_open', () => selectChangedAndOpen(db, request, range))
    .with('by_group', (steps) => selectByGroup(steps, request, coverWithYears(range)))
    .with('by_level', (steps) =>
      addUpGroups(steps).unionAll(addUpMonths(steps, request, chooseMonthsAndDays(request, range))),
    )
  return selectLevels(query, baseDigits)
}

/**
 * Returns the query for the total and the currencies alone, with the same columns as `queryTotals`.
 * It reads rows over all countries, which are fewer.
 */
export function queryTotalsByCurrency(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  baseDigits: number,
) {
  const query = db
    .with('changed_and_open', () => selectChangedAndOpen(db, request, range))
    .with('by_group', (steps) => selectByGroup(steps, request, chooseMonthsAndDays(request, range)))
    .with('by_level', (steps) => addUpGroupsByCurrency(steps))
  return selectLevels(query, baseDigits)
}

/** Selects the groups with quotes, in order. */
function selectLevels(query: AfterStep<'by_level'>, baseDigits: number) {
  return query
    .selectFrom('by_level')
    .leftJoin('currencies', 'currencies.code', 'by_level.currency')
    .where(quoteCount, '>', '0')
    .select(['level', 'currency', ...totalsColumns(baseDigits)])
    .select([
      sql<string | null>`to_char(month, 'YYYY-MM')`.as('month'),
      sql<string | null>`nullif(country, '')`.as('country'),
      sql<string>`round(net, digits)`.as('ownNet'),
      sql<string>`round(unconverted_net, digits)`.as('ownUnconvertedNet'),
    ])
    .orderBy('by_level.month')
    .orderBy('base_net', 'desc')
    .orderBy(sql`nullif(country, '')`, (order) => order.asc().nullsLast())
    .orderBy('currency')
}

/**
 * Returns the rows of months and days that cover the range. Rows over all countries are fewer, but
 * they cannot be filtered by country.
 */
const chooseMonthsAndDays = ({ country }: StatsRequest, range: DateRange) =>
  coverWithMonths(range, { overAllCountries: country === undefined })

type SummedColumn = (typeof summedColumns)[number]
/** The sums of one view. Null counts as zero. */
type SourceSums = Record<SummedColumn, string | null>
/** The rows of each step of a query. The functions `addUp…` add up the rows of earlier steps. */
type Steps = {
  changed_and_open: SourceSums & { month: string | null; country: string; currency: string }
  by_group: SourceSums & { country: string; currency: string }
  by_level: Record<SummedColumn, string> & {
    level: SummaryLevel
    month: string | null
    country: string | null
    currency: string | null
  }
}
/** What builds a query that can read the tables and a step. */
type AfterStep<Step extends keyof Steps> = QueryCreator<Tables & Pick<Steps, Step>>

/**
 * Selects what grouped_figures lacks, by month, country and currency: the unfolded rows of
 * quote_changes, and the sent quotes that are still valid.
 */
function selectChangedAndOpen(db: Kysely<Tables>, request: StatsRequest, range: DateRange) {
  return selectChangedFigures(db, request, range)
    .select([monthOf('day').as('month'), 'country', 'currency'])
    .groupBy([monthOf('day'), 'country', 'currency'])
    .unionAll(
      selectValidity(db, request, coverValidityWithMonths(range, request.today)).map((sums) =>
        sums
          .select([monthOf('starts_on').as('month'), 'country', 'currency'])
          .groupBy([monthOf('starts_on'), 'country', 'currency']),
      ),
    )
}

/**
 * Unites the sums of changed_and_open and of grouped_figures by country and currency. In rows over
 * all countries, the country is empty. A group can have several rows, one from each source and
 * month: the next step adds them up.
 */
function selectByGroup(
  query: AfterStep<'changed_and_open'>,
  request: StatsRequest,
  ranges: GrainRange[],
) {
  return query
    .selectFrom('changed_and_open')
    .select([...summedColumns, 'country', 'currency'])
    .unionAll(
      selectGroupedFigures(query, request, ranges).map((sums) =>
        sums.select(['country', 'currency']).groupBy(['country', 'currency']),
      ),
    )
}

/**
 * Returns the total, the countries and the currencies. They are computed from the few rows of
 * by_group, which costs almost nothing. Grouping sets over the rows of the summary would add up
 * each row several times.
 */
function addUpGroups(query: AfterStep<'by_group'>) {
  return query
    .selectFrom('by_group')
    .groupBy(sql`grouping sets ((), (country), (currency))`)
    .select(addedUpColumns)
    .select([
      // grouping() is 3 without country and currency, and 1 without currency, so by country.
      sql<SummaryLevel>`case grouping(country, currency)
        when 3 then 'total' when 1 then 'country' else 'currency' end`.as('level'),
      sql<string | null>`null::date`.as('month'),
      sql<string | null>`country`.as('country'),
      sql<string | null>`currency`.as('currency'),
    ])
}

/** Returns the total and the currencies. */
function addUpGroupsByCurrency(query: AfterStep<'by_group'>) {
  return query
    .selectFrom('by_group')
    .groupBy(sql`grouping sets ((), (currency))`)
    .select(addedUpColumns)
    .select([
      sql<SummaryLevel>`case grouping(currency) when 1 then 'total' else 'currency' end`.as(
        'level',
      ),
      sql<string | null>`null::date`.as('month'),
      sql<string | null>`null::text`.as('country'),
      sql<string | null>`currency`.as('currency'),
    ])
}

/** Returns the months. */
function addUpMonths(
  query: AfterStep<'changed_and_open'>,
  request: StatsRequest,
  ranges: GrainRange[],
) {
  const sums = query
    .selectFrom('changed_and_open')
    .select([...summedColumns, 'month'])
    .unionAll(
      selectGroupedFigures(query, request, ranges).map((rows) =>
        rows.select(monthOf('starts_on').as('month')).groupBy(monthOf('starts_on')),
      ),
    )
  return query
    .selectFrom(sums.as('sums'))
    .groupBy('month')
    .select(addedUpColumns)
    .select([
      sql<SummaryLevel>`'month'`.as('level'),
      'month',
      sql<string | null>`null::text`.as('country'),
      sql<string | null>`null::text`.as('currency'),
    ])
}

/**
 * Returns the query for the totals of each day of the range that has quotes, in order. Its cost
 * depends on the number of days and countries, because only the rows of single days are read.
 */
export function queryDays(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  baseDigits: number,
) {
  const days = coverWithDays(range, { overAllCountries: request.country === undefined })
  const validity = coverValidityWithDays(range, request.today)
  const sums = selectChangedFigures(db, request, range)
    .select('day')
    .groupBy('day')
    .unionAll([
      ...selectValidity(db, request, validity).map((rows) =>
        rows.select('starts_on as day').groupBy('starts_on'),
      ),
      ...selectGroupedFigures(db, request, days).map((rows) =>
        rows.select('starts_on as day').groupBy('starts_on'),
      ),
    ])
  return db
    .with('days', () =>
      db.selectFrom(sums.as('sums')).groupBy('day').select(addedUpColumns).select('day'),
    )
    .selectFrom('days')
    .where(quoteCount, '>', '0')
    .select(totalsColumns(baseDigits))
    .select(sql<string>`to_char(day, 'YYYY-MM-DD')`.as('day'))
    .orderBy('days.day')
}

/**
 * Returns the query for the first and the last day of the range on which a quote counts, or null.
 * `firstMonth` and `lastMonth` (YYYY-MM) are the first and the last month of the range with quotes.
 */
export function queryDateRange(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  months: [firstMonth: string, lastMonth: string],
) {
  const days = months.map(getMonthBounds).map(({ first, last }): GrainRange => {
    const [from, to] = [first > range.from ? first : range.from, last < range.to ? last : range.to]
    return { grain: request.country === undefined ? 'day_total' : 'day', sign: 1, from, to }
  })
  const daysWithQuotes = db
    .selectFrom('current_figures')
    .where(isWithin(days, isOfDateKind(request)))
    .where(matchesCountryAndCurrency(request))
    .groupBy('starts_on')
    .having(sql`sum(${quoteCount})`, '>', 0)
    .select('starts_on')
  return db
    .selectFrom(daysWithQuotes.as('days'))
    .select(({ fn }) => [
      fn.min<string | null>('starts_on').as('first'),
      fn.max<string | null>('starts_on').as('last'),
    ])
}

/**
 * The columns of a returned row, with the names of the response. They make up GroupTotals, except
 * `unconverted`. A sent quote that is no longer valid counts as expired, and its net as lost.
 */
const totalsColumns = (baseDigits: number) =>
  [
    'drafts as draft',
    'open_quotes as sent',
    'accepted',
    'rejected',
    sql<string>`expired + sent - open_quotes`.as('expired'),
    'unconverted',
    sql<string>`round(base_open, ${baseDigits})`.as('open'),
    sql<string>`round(base_net, ${baseDigits})`.as('won'),
    sql<string>`round(base_lost + base_sent - base_open, ${baseDigits})`.as('lost'),
    'decided as decisionQuotes',
    'decision_days as decisionDays',
    'decision_histogram as decisionHistogram',
  ] as const

const quoteCount = sql<string>`drafts + sent + accepted + rejected + expired`

/** Returns SQL for the first day of the month. A timestamp with a time zone would take longer. */
const monthOf = (column: 'starts_on' | 'day') =>
  sql<string | null>`date_trunc('month', ${sql.ref(column)}::timestamp)::date`

/** Sums that add up the rows of earlier steps. */
const addedUpColumns = summedColumns.map((name) =>
  sql<string>`coalesce(sum(${sql.ref(name)}), 0)`.as(name),
)

/** Returns null for columns that a source lacks. Adding null costs less than adding zero. */
const nulls = <Name extends string>(names: readonly Name[]) =>
  names.map((name) => sql<string | null>`null::numeric`.as(name))

/** A sum, subtracted if `sign` is -1. */
const sumOf = (name: string, sign: 1 | -1, filterClause = sql``) => {
  const sum = sql<string | null>`sum(${sql.ref(name)})${filterClause}`
  return sign === 1 ? sum : sql<string | null>`-${sum}`
}

/** The sums of the figures. Zeros are left out, because adding a zero takes as long as a number. */
const figureColumns = (sign: 1 | -1) =>
  figures.map((name) => sumOf(name, sign, sql` filter (where ${sql.ref(name)} <> 0)`).as(name))

// The following queries have the same columns, so that they can be united. `group by` is added
// where they are united.

/** Returns a query for the added rows of grouped_figures, and one for the subtracted rows. */
function selectGroupedFigures(
  db: QueryCreator<Tables>,
  request: StatsRequest,
  ranges: GrainRange[],
) {
  return groupBySign(ranges).map(({ sign, ranges: rangesOfSign }) =>
    db
      .selectFrom('grouped_figures')
      .where(isWithin(rangesOfSign, isOfDateKind(request)))
      .where(matchesCountryAndCurrency(request))
      .select(figureColumns(sign))
      .select(nulls(openColumns)),
  )
}

/** Returns a query for the unfolded rows of quote_changes in the range. */
function selectChangedFigures(db: Kysely<Tables>, request: StatsRequest, { from, to }: DateRange) {
  return db
    .selectFrom('changed_figures')
    .where('date_kind', '=', request.date)
    .where('day', '>=', from)
    .where('day', '<=', to)
    .where(matchesCountryAndCurrency(request))
    .select(figureColumns(1))
    .select(nulls(openColumns))
}

/**
 * Returns a query for the added sent quotes that are still valid, and one for the subtracted ones.
 * A quote without a last valid day is always valid. Returns no query if the request counts quotes
 * by acceptance: then only accepted quotes count.
 */
function selectValidity(db: Kysely<Tables>, request: StatsRequest, ranges: ValidityRange[]) {
  const countedRanges = request.date === 'issued' ? ranges : []
  return groupBySign(countedRanges).map(({ sign, ranges: rangesOfSign }) =>
    db
      .selectFrom('current_validity')
      .where(
        isWithin(rangesOfSign, (row, { validUntil: { from, to } }) =>
          row.and([
            row(sql.ref<string>('valid_until'), '>=', from),
            row(sql.ref<string>('valid_until'), '<=', to),
          ]),
        ),
      )
      .where(matchesCountryAndCurrency(request))
      .select(nulls(figures))
      .select([sumOf('quotes', sign).as('open_quotes'), sumOf('base_net', sign).as('base_open')]),
  )
}
