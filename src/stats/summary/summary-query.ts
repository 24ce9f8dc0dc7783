// The queries that read the summary: totals of a period by country, by currency, by month and by
// day. Their cost depends on the number of days, countries and currencies, not of quotes.
import { type AliasedRawBuilder, type Kysely, sql } from 'kysely'
import { getMonthBounds } from '../../company/calendar.ts'
import type { Tables } from '../../database/table-types.ts'
import type { StatsRequest } from '../schema.ts'
import { isOfDateKind, isWithin, matches, type SummaryView, signOf } from './row-conditions.ts'
import {
  coverValidityWithDays,
  coverValidityWithMonths,
  coverWithDays,
  coverWithMonths,
  coverWithYears,
  type DateRange,
  type GrainRange,
  type ValidityRange,
} from './summary-grains.ts'

/**
 * The columns of quote_figures that are added up. `sent` and `base_sent` include sent quotes that
 * are no longer valid; `unconverted` is the number of accepted quotes without a rate.
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
] as const
/** Sums of quote_validity: the sent quotes that are still valid, and their net. */
const openColumns = ['open_quotes', 'base_open'] as const
const summedColumns = [...figures, ...openColumns]

/** What all quotes of a row share: nothing, a country, a currency or a month. */
export type SummaryLevel = 'total' | 'country' | 'currency' | 'month'

/** The sums over a group of quotes. Counts and amounts are decimal text. */
export type SummaryRow = Awaited<ReturnType<typeof queryTotals>>[number]

type TotalsOptions = { baseDigits: number; byCountryAndMonth: boolean }

/**
 * Returns the total of the quotes in the range and the totals of each currency; with
 * `byCountryAndMonth` also those of each country and of each month. Groups without quotes are left
 * out. Amounts are in the base currency, but `own_net` and `own_unconverted_net` are in the
 * currency of the row. Currencies and countries are ordered by revenue and then by code, with the
 * unknown country last.
 */
export function queryTotals(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  { baseDigits, byCountryAndMonth }: TotalsOptions,
) {
  return withTotals(db, request, range, byCountryAndMonth)
    .selectFrom('totals')
    .leftJoin('currencies', 'currencies.code', 'totals.currency')
    .where(quoteCount, '>', '0')
    .select(['level', 'currency', ...summedColumns, ...moneyByOutcome(baseDigits)])
    .select([
      sql<string | null>`to_char(starts_on, 'YYYY-MM')`.as('month'),
      sql<string | null>`nullif(country, '')`.as('country'),
      sql<string>`round(net, digits)`.as('own_net'),
      sql<string>`round(unconverted_net, digits)`.as('own_unconverted_net'),
    ])
    .orderBy('totals.starts_on')
    .orderBy('base_net', 'desc')
    .orderBy(sql`nullif(country, '')`, (order) => order.asc().nullsLast())
    .orderBy('currency')
    .execute()
}

/**
 * Returns a query builder with the sums of each group as `totals`. All groups are computed in one
 * statement, so that `details` is computed only once. It has the sent quotes that are still valid
 * and the single changes that are not folded, by month, country and currency.
 */
function withTotals(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  byCountryAndMonth: boolean,
) {
  const months = coverWithMonths(range, { acrossCountries: request.country === undefined })
  const pairRanges = byCountryAndMonth ? coverWithYears(range) : months
  const validityRanges = coverValidityWithMonths(range, request.today)
  return (
    db
      .with('details', () =>
        sumValidity(db, request, validityRanges, monthStartSql).unionAll(
          sumChangedFigures(db, request, range, monthStartSql),
        ),
      )
      // The sums by country and currency.
      .with('pairs', (query) =>
        sumGroupedFigures(db, request, pairRanges, keysOfPair).unionAll(
          query.selectFrom('details').selectAll(),
        ),
      )
      // Grouping the few pairs again costs almost nothing. Grouping sets over the rows of the
      // summary would add each row several times.
      .with('groups', (query) =>
        query
          .selectFrom('pairs')
          .groupBy(sql`grouping sets ((), (country), (currency))`)
          .select([levelOfGroup, noStart, 'country', 'currency'])
          .select(summedColumns.map(sumOfSums)),
      )
      .with('totals', (query) => {
        const groups = query.selectFrom('groups').selectAll()
        if (!byCountryAndMonth) return groups.where('level', '<>', 'country')
        const details = query.selectFrom('details').selectAll()
        const sums = sumGroupedFigures(db, request, months, keysOfMonth).unionAll(details)
        return groups.unionAll(
          query
            .selectFrom(sums.as('sums'))
            .groupBy('starts_on')
            .select([levelOfMonth, 'starts_on', noCountry, noCurrency])
            .select(summedColumns.map(sumOfSums)),
        )
      })
  )
}

/**
 * Returns the totals of each day of the range that has quotes, in order. Its cost depends on the
 * number of days and countries, because only the rows of single days are read.
 */
export function queryDays(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  baseDigits: number,
) {
  const ranges = coverWithDays(range, { acrossCountries: request.country === undefined })
  const sums = sumGroupedFigures(db, request, ranges, keysOfDay)
    .unionAll(sumValidity(db, request, coverValidityWithDays(range, request.today), daySql))
    .unionAll(sumChangedFigures(db, request, range, daySql))
  return db
    .with('days', () =>
      db
        .selectFrom(sums.as('sums'))
        .groupBy('starts_on')
        .select('starts_on')
        .select(summedColumns.map(sumOfSums)),
    )
    .selectFrom('days')
    .where(quoteCount, '>', '0')
    .select([...summedColumns, ...moneyByOutcome(baseDigits)])
    .select(sql<string>`to_char(starts_on, 'YYYY-MM-DD')`.as('day'))
    .orderBy('starts_on')
    .execute()
}

const levelOfMonth = sql<SummaryLevel>`'month'`.as('level')
/** In grouping(), a bit is set for each column that a row is not grouped by. */
const levelOfGroup = sql<SummaryLevel>`case grouping(country, currency)
  when 3 then 'total' when 1 then 'country' else 'currency' end`.as('level')

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
    return { grain: request.country === undefined ? 'day_total' : 'day', sign: 1, from, to }
  })
  const daysWithQuotes = db
    .selectFrom('current_figures')
    .where(isWithin(days, isOfDateKind(request)))
    .where(matches(request))
    .groupBy('starts_on')
    .having(sql`sum(${quoteCount})`, '>', 0)
    .select('starts_on')
  return db
    .selectFrom(daysWithQuotes.as('days'))
    .select(({ fn }) => [fn.min('starts_on').as('first'), fn.max('starts_on').as('last')])
    .executeTakeFirstOrThrow()
}

/**
 * Money by outcome in the base currency, from the sums of the summary. Lost are rejected and
 * expired quotes, and sent quotes that are no longer valid.
 */
const moneyByOutcome = (baseDigits: number) =>
  [
    sql<string>`round(base_open, ${baseDigits})`.as('open_net'),
    sql<string>`round(base_net, ${baseDigits})`.as('won_net'),
    sql<string>`round(base_lost + base_sent - base_open, ${baseDigits})`.as('lost_net'),
  ] as const

const quoteCount = sql<string>`drafts + sent + accepted + rejected + expired`

/** The sum of a column. Zeros are skipped, because adding one costs as much as any other number. */
const sumOf =
  (sign: 1 | -1 = 1) =>
  (name: (typeof figures)[number]) => {
    const value = sql.ref(name)
    const sum = sql<string | null>`sum(${value}) filter (where ${value} <> 0)`
    return (sign === 1 ? sum : sql<string | null>`-${sum}`).as(name)
  }

/** The sum of sums, some of which may be null. */
function sumOfSums(name: (typeof summedColumns)[number]) {
  return sql<string>`coalesce(sum(${sql.ref(name)}), 0)`.as(name)
}

/**
 * Sums over rows of the summary. A key that a query does not group by is null. A sum may be null
 * too, because adding null costs less than adding zero.
 */
type GroupSums = {
  /** The first day of the month, or the day. */
  starts_on: Date | null
  country: string | null
  currency: string | null
} & Record<(typeof summedColumns)[number], string | null>
const nullOf = (name: (typeof summedColumns)[number]) => sql<null>`null::numeric`.as(name)

/** Returns SQL for the first day of the month of a column, or for its day. */
type StartSql = (column: string) => AliasedRawBuilder<Date | null, 'starts_on'>
/** A timestamp with a time zone would take twice as long. */
const monthStartSql: StartSql = (column) =>
  sql<Date | null>`date_trunc('month', ${sql.ref(column)}::timestamp)::date`.as('starts_on')
const daySql: StartSql = (column) => sql<Date | null>`${sql.ref(column)}`.as('starts_on')
const noStart = sql<Date | null>`null::date`.as('starts_on')
const keysOfPair = [noStart, 'country', 'currency'] as const
const noCountry = sql<string | null>`null::text`.as('country')
const noCurrency = sql<string | null>`null::text`.as('currency')
const keysOfMonth = [monthStartSql('starts_on'), noCountry, noCurrency] as const
const keysOfDay = [daySql('starts_on'), noCountry, noCurrency] as const

/** Adds up the rows of `grouped_figures` by these keys. */
function sumGroupedFigures(
  db: Kysely<Tables>,
  request: StatsRequest,
  ranges: GrainRange[],
  keys: typeof keysOfPair | typeof keysOfMonth | typeof keysOfDay,
) {
  const sumRows = (rows: GrainRange[], sign: 1 | -1) =>
    db
      .selectFrom('grouped_figures')
      .where(isWithin(rows, isOfDateKind(request)))
      .where(matches(request))
      .groupBy(sql`1, 2, 3`)
      .select([...keys])
      .select(figures.map(sumOf(sign)))
      .select(openColumns.map(nullOf))
      .$castTo<GroupSums>()
  // A query for each sign costs less than finding the sign of each row.
  const [added, subtracted] = [1, -1].map((sign) => ranges.filter((range) => range.sign === sign))
  const sums = sumRows(added ?? [], 1)
  return subtracted?.length ? sums.unionAll(sumRows(subtracted, -1)) : sums
}

/** Adds up the rows of `changed_figures` by month or day, country and currency. */
function sumChangedFigures(
  db: Kysely<Tables>,
  request: StatsRequest,
  { from, to }: DateRange,
  startSql: StartSql,
) {
  return db
    .selectFrom('changed_figures')
    .where('date_kind', '=', request.date)
    .where('day', '>=', from)
    .where('day', '<=', to)
    .where(matches(request))
    .groupBy(sql`1, 2, 3`)
    .select([startSql('day'), 'country', 'currency'])
    .select(figures.map(sumOf()))
    .select(openColumns.map(nullOf))
    .$castTo<GroupSums>()
}

/**
 * Adds up the sent quotes that are still valid by month or day, country and currency. A quote
 * without a last valid day is always valid. There are none by day of acceptance, where only
 * accepted quotes count.
 */
function sumValidity(
  db: Kysely<Tables>,
  request: StatsRequest,
  rangesByIssue: ValidityRange[],
  startSql: StartSql,
) {
  const ranges = request.date === 'issued' ? rangesByIssue : []
  const sign = signOf(ranges)
  return db
    .selectFrom('current_validity')
    .where(isWithin(ranges, isValidUntil))
    .where(matches(request))
    .groupBy(sql`1, 2, 3`)
    .select([startSql('starts_on'), 'country', 'currency'])
    .select(figures.map(nullOf))
    .select((row) => [
      sql<string>`sum(${sign(row)} * quotes)`.as('open_quotes'),
      sql<string>`sum(${sign(row)} * base_net)`.as('base_open'),
    ])
    .$castTo<GroupSums>()
}

const isValidUntil = (row: SummaryView, { validUntil: { from, to } }: ValidityRange) =>
  row.and([row(sql.ref<string>('valid_until'), '>=', from), row(sql.ref('valid_until'), '<=', to)])
