// The queries that read the summary: totals of a period by country, by currency, by month and by
// day. Their cost depends on the number of days, countries and currencies, not on that of quotes.
import { type AliasedRawBuilder, type Kysely, sql } from 'kysely'
import { getMonthBounds } from '../../company/calendar.ts'
import type { Tables } from '../../database/table-types.ts'
import type { StatsRequest } from '../schema.ts'
import { isOfDateKind, isWithin, matches, type SummaryView, signOf } from './row-conditions.ts'
import {
  type DateRange,
  type GrainRange,
  splitByValidity,
  splitIntoDays,
  splitIntoMonths,
  splitIntoYears,
  splitValidityIntoDays,
  type ValidityRange,
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

/** What the quotes of a row have in common, besides the request. */
export type SummaryLevel = 'total' | 'country' | 'currency' | 'month'

/** The sums over a group of quotes. Counts and amounts are decimal text. */
export type SummaryRow = Awaited<ReturnType<typeof queryTotals>>[number]

/**
 * Returns the total of the quotes in the range and the totals of each currency; with `breakdowns`
 * also those of each country and of each month. Groups without quotes are left out. Amounts are in
 * the base currency, but `own_net` and `own_unconverted_net` are in the currency of the row.
 * Currencies and countries are ordered by revenue and then by code, with the unknown country last.
 *
 * All are one statement: each breakdown needs the validity of the same quotes, and the changes that
 * are not folded, which are computed once.
 */
export function queryTotals(
  db: Kysely<Tables>,
  request: StatsRequest,
  range: DateRange,
  { baseDigits, breakdowns }: { baseDigits: number; breakdowns: boolean },
) {
  const months = splitIntoMonths(range, { ofAllCountries: request.country === undefined })
  const years = splitIntoYears(range)
  return (
    db
      .with('details', () =>
        sumValidity(db, request, splitByValidity(range, request.today), monthOf).unionAll(
          sumChanges(db, request, range, monthOf),
        ),
      )
      .with('pairs', (query) =>
        sumGroups(db, request, breakdowns ? years : months, keysOfPair).unionAll(
          query.selectFrom('details').selectAll(),
        ),
      )
      // Grouping the few pairs again costs almost nothing. Several grouping sets of the rows of the
      // summary would add each row several times.
      .with('groups', (query) =>
        query
          .selectFrom('pairs')
          .groupBy(sql`grouping sets ((), (country), (currency))`)
          .select([levelOfGroup, noBegin, 'country', 'currency'])
          .select(values.map(sumOfCells)),
      )
      .with('totals', (query) => {
        const groups = query.selectFrom('groups').selectAll()
        if (!breakdowns) return groups.where('level', '<>', 'country')
        const figuresOfMonths = sumGroups(db, request, months, keysOfMonth)
        const cells = figuresOfMonths.unionAll(query.selectFrom('details').selectAll())
        return groups.unionAll(
          query
            .selectFrom(cells.as('cells'))
            .groupBy('begins_on')
            .select([levelOfMonth, 'begins_on', noCountry, noCurrency])
            .select(values.map(sumOfCells)),
        )
      })
      .selectFrom('totals')
      .leftJoin('currencies', 'currencies.code', 'totals.currency')
      .where(quoteCount, '>', '0')
      .select(['level', 'currency', ...values, ...moneyByOutcome(baseDigits)])
      .select([
        sql<string | null>`to_char(begins_on, 'YYYY-MM')`.as('month'),
        sql<string | null>`nullif(country, '')`.as('country'),
        sql<string>`round(net, digits)`.as('own_net'),
        sql<string>`round(unconverted_net, digits)`.as('own_unconverted_net'),
      ])
      .orderBy('totals.begins_on')
      .orderBy('base_net', 'desc')
      .orderBy(sql`nullif(country, '')`, (order) => order.asc().nullsLast())
      .orderBy('currency')
      .execute()
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
  const ranges = splitIntoDays(range, { ofAllCountries: request.country === undefined })
  const cells = sumGroups(db, request, ranges, keysOfDay)
    .unionAll(sumValidity(db, request, splitValidityIntoDays(range, request.today), dayOf))
    .unionAll(sumChanges(db, request, range, dayOf))
  return db
    .with('days', () =>
      db
        .selectFrom(cells.as('cells'))
        .groupBy('begins_on')
        .select('begins_on')
        .select(values.map(sumOfCells)),
    )
    .selectFrom('days')
    .where(quoteCount, '>', '0')
    .select([...values, ...moneyByOutcome(baseDigits)])
    .select(sql<string>`to_char(begins_on, 'YYYY-MM-DD')`.as('day'))
    .orderBy('begins_on')
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
 * Money by outcome in the base currency, from the sums of the summary. Open are sent quotes that
 * are still valid, and won are accepted ones. Lost are rejected and expired ones, and sent ones
 * that are no longer valid.
 */
const moneyByOutcome = (baseDigits: number) =>
  [
    sql<string>`round(base_valid, ${baseDigits})`.as('open'),
    sql<string>`round(base_net, ${baseDigits})`.as('won'),
    sql<string>`round(base_lost + base_sent - base_valid, ${baseDigits})`.as('lost'),
  ] as const

const quoteCount = sql<string>`drafts + sent + accepted + rejected + expired`

/** The sum of a value. Adding a zero costs as much as adding any other number, so it is skipped. */
const sumOf =
  (sign: 1 | -1 = 1) =>
  (name: (typeof figures)[number]) => {
    const value = sql.ref(name)
    const sum = sql<string | null>`sum(${value}) filter (where ${value} <> 0)`
    return (sign === 1 ? sum : sql<string | null>`-${sum}`).as(name)
  }

/** The sum of sums, of which some are null. */
function sumOfCells(name: (typeof values)[number]) {
  return sql<string>`coalesce(sum(${sql.ref(name)}), 0)`.as(name)
}

/**
 * Sums over rows of the summary that share some of month or day, country and currency. Null costs
 * less to add than zero.
 */
type Cell = {
  /** The first day of the month, or the day. */
  begins_on: Date | null
  country: string | null
  currency: string | null
} & Record<(typeof values)[number], string | null>
const nullOf = (name: (typeof values)[number]) => sql<null>`null::numeric`.as(name)

/** Returns the first day of the month, or the day itself, of the day in a column. */
type BeginOf = (column: string) => AliasedRawBuilder<Date | null, 'begins_on'>
/** Without a time zone, which would make it twice as slow. */
const monthOf: BeginOf = (column) =>
  sql<Date | null>`date_trunc('month', ${sql.ref(column)}::timestamp)::date`.as('begins_on')
const dayOf: BeginOf = (column) => sql<Date | null>`${sql.ref(column)}`.as('begins_on')
const noBegin = sql<Date | null>`null::date`.as('begins_on')
const keysOfPair = [noBegin, 'country', 'currency'] as const
const noCountry = sql<string | null>`null::text`.as('country')
const noCurrency = sql<string | null>`null::text`.as('currency')
const keysOfMonth = [monthOf('starts_on'), noCountry, noCurrency] as const
const keysOfDay = [dayOf('starts_on'), noCountry, noCurrency] as const

/** Adds up figures by these keys, without single changes. */
function sumGroups(
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
      .select(validity.map(nullOf))
      .$castTo<Cell>()
  // A query for each sign costs less than finding the sign of each row.
  const [added, subtracted] = [1, -1].map((sign) => ranges.filter((range) => range.sign === sign))
  const sums = sumRows(added ?? [], 1)
  return subtracted?.length ? sums.unionAll(sumRows(subtracted, -1)) : sums
}

/** Adds up the single changes by month or day, country and currency. */
function sumChanges(
  db: Kysely<Tables>,
  request: StatsRequest,
  { from, to }: DateRange,
  beginOf: BeginOf,
) {
  return db
    .selectFrom('changed_figures')
    .where('date_kind', '=', request.date)
    .where('day', '>=', from)
    .where('day', '<=', to)
    .where(matches(request))
    .groupBy(sql`1, 2, 3`)
    .select([beginOf('day'), 'country', 'currency'])
    .select(figures.map(sumOf()))
    .select(validity.map(nullOf))
    .$castTo<Cell>()
}

/**
 * Adds up validity by month or day, country and currency. A sent quote is valid to the end of its
 * last day, and always without one. By day of acceptance there are only accepted quotes.
 */
function sumValidity(
  db: Kysely<Tables>,
  request: StatsRequest,
  rangesByIssue: ValidityRange[],
  beginOf: BeginOf,
) {
  const ranges = request.date === 'issued' ? rangesByIssue : []
  const sign = signOf(ranges)
  return db
    .selectFrom('current_validity')
    .where(isWithin(ranges, isValidUntil))
    .where(matches(request))
    .groupBy(sql`1, 2, 3`)
    .select([beginOf('starts_on'), 'country', 'currency'])
    .select(figures.map(nullOf))
    .select((row) => [
      sql<string>`sum(${sign(row)} * quotes)`.as('valid'),
      sql<string>`sum(${sign(row)} * base_net)`.as('base_valid'),
    ])
    .$castTo<Cell>()
}

const isValidUntil = (row: SummaryView, { validUntil: { from, to } }: ValidityRange) =>
  row.and([row(sql.ref<string>('valid_until'), '>=', from), row(sql.ref('valid_until'), '<=', to)])
