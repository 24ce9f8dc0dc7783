// Computes the statistics from one snapshot of the database: period, rates, average, months, days
// and comparison.
import type { InferResult, Kysely, Transaction } from 'kysely'
import { addDays, countDaysIncluded, getMonthBounds, listMonths } from '../company/calendar.ts'
import type { Company } from '../company/company-file.ts'
import { requireCurrencyDigits } from '../company/currencies.ts'
import { retryIfConnectionBreaks } from '../database/failover/retry-reads.ts'
import type { Tables } from '../database/table-types.ts'
import type { Moment } from './cache/shared-stats-cache.ts'
import { chooseComparisonPeriod } from './comparison-period.ts'
import { divide, subtract } from './exact-decimals.ts'
import { createEmptyGroup, ratioDecimals, toGroup } from './figures.ts'
import type { DatedRequest, Period, Stats, StatsRequest, StatsWithoutAsOf } from './schema.ts'
import { readBreakdown } from './summary/read-breakdown.ts'
import { rangeOf } from './summary/summary-grains.ts'
import {
  prepareSnapshot,
  queryDateRange,
  queryTotals,
  type SummaryLevel,
} from './summary/summary-query.ts'
import { readSummaryState, type SummaryState } from './summary/summary-state.ts'

/** The statistics of a snapshot that began after `readAt`, and the state of the summary in it. */
export type ReadStats = { stats: StatsWithoutAsOf; state: SummaryState; readAt: Moment }

/**
 * Returns the statistics of the summary. Revenue is the net of accepted quotes. The amount of each
 * quote is converted and rounded half up to the digits of the base currency before the amounts are
 * added.
 */
export async function readStats(
  db: Kysely<Tables>,
  company: Company,
  request: StatsRequest,
): Promise<ReadStats> {
  const read = () => {
    const readAt = performance.now()
    return db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute(async (transaction) => {
        await prepareSnapshot(transaction, request)
        const state = await readSummaryState(transaction)
        const dated = { ...request, today: state.today }
        return { stats: await assembleStats(transaction, company, dated), state, readAt }
      })
  }
  return retryIfConnectionBreaks(read)
}

/**
 * Returns the statistics of a period and of its comparison period. `snapshot` is repeatable read:
 * otherwise countries, months, days and customers might not add up to the total.
 */
export async function assembleStats(
  snapshot: Transaction<Tables>,
  company: Company,
  request: DatedRequest,
): Promise<StatsWithoutAsOf> {
  const { baseCurrency } = company
  const { compare, today } = request
  const range = rangeOf(request)
  const rows = await queryTotals(snapshot, request, range, {
    baseDigits: requireCurrencyDigits(baseCurrency),
    lists: true,
  }).execute()
  const rowsOf = (level: SummaryLevel) => rows.filter((row) => row.level === level)
  const empty = createEmptyGroup(baseCurrency)
  /** Returns a function that returns the group of the month or day that begins on a day. */
  const groupsOf = (level: 'month' | 'day') => {
    const groups = new Map(rowsOf(level).map((row) => [row.firstDay, toGroup(row, baseCurrency)]))
    return (firstDay: string) => groups.get(firstDay) ?? empty
  }
  const [groupOfMonth, groupOfDay] = [groupsOf('month'), groupsOf('day')]
  const period = await resolvePeriod(snapshot, company, request, rowsOf('month'))
  const { from, to } = period
  const totals = toTotals(rows, baseCurrency)
  return {
    period,
    ...totals,
    byCountry: rowsOf('country').map((row) => ({
      country: row.country,
      ...toGroup(row, baseCurrency),
    })),
    // A month is partial if it lies beyond the period in part, or if it is not over.
    byMonth: listMonths(from, to).map((month) => {
      const { first, last } = getMonthBounds(month)
      const partial = first < from || last > to || last >= today
      return { month, partial, ...groupOfMonth(first) }
    }),
    ...(request.by === 'day' && {
      byDay: Array.from({ length: countDaysIncluded(from, to) }, (_, index) => {
        const day = addDays(from, index)
        return { day, partial: day >= today, ...groupOfDay(day) }
      }),
    }),
    ...(await readBreakdown(snapshot, company, request, range)),
    comparison: compare
      ? await compareWith(snapshot, company, request, {
          period: chooseComparisonPeriod(period, compare, today),
          totals,
        })
      : null,
  }
}

/**
 * Returns the period of a request. An open end becomes the day of the first or last matching quote,
 * or today if no quote matches. If that day lies beyond the given end, the open end equals the
 * given one. `months` are those that have quotes, in order.
 */
async function resolvePeriod(
  db: Kysely<Tables>,
  { timeZone }: Company,
  request: DatedRequest,
  months: { firstDay: string }[],
): Promise<Period> {
  const { today, date } = request
  let { from, to } = request
  if (from === undefined || to === undefined) {
    const range = rangeOf(request)
    const ends = [months.at(0), months.at(-1)]
      .flatMap((month) => month ?? [])
      .map(({ firstDay }) => {
        const { first, last } = getMonthBounds(firstDay.slice(0, 7))
        return { from: later(first, range.from), to: earlier(last, range.to) }
      })
    const days = await queryDateRange(db, request, ends).executeTakeFirstOrThrow()
    from ??= earlier(days.first ?? today, range.to)
    to ??= later(days.last ?? today, range.from)
  }
  return { from, to, timeZone, date }
}

const earlier = (day: string, other: string): string => (day < other ? day : other)
const later = (day: string, other: string): string => (day > other ? day : other)

type TotalsRow = InferResult<ReturnType<typeof queryTotals>>[number]
type Totals = Pick<Stats, 'quotes' | 'revenue'>

/** Returns the totals of a period, from its rows of the levels `total` and `currency`. */
function toTotals(rows: TotalsRow[], currency: string): Totals {
  const total = rows.find(({ level }) => level === 'total')
  const group = total ? toGroup(total, currency) : createEmptyGroup(currency)
  const { quotes, accepted, revenue, ...outcomes } = group
  const converted = accepted - Number(total?.unconverted ?? 0)
  const average = divide(revenue.amount, converted, requireCurrencyDigits(currency))
  const currencies = rows.filter(({ level }) => level === 'currency')
  return {
    quotes: { total: quotes, ...outcomes },
    revenue: {
      total: revenue,
      average: average === null ? null : { amount: average, currency },
      byCurrency: currencies.flatMap(({ currency, ownNet, accepted }) =>
        moneyOfQuotes(ownNet, currency, accepted),
      ),
      unconverted: currencies
        .flatMap(({ currency, ownUnconvertedNet, unconverted }) =>
          moneyOfQuotes(ownUnconvertedNet, currency, unconverted),
        )
        .sort((a, b) => (a.currency < b.currency ? -1 : 1)),
    },
  }
}

/** Returns a list of one amount, or an empty list if there is no quote. */
function moneyOfQuotes(amount: string | null, currency: string | null, quotes: string) {
  return amount !== null && currency !== null && Number(quotes) > 0
    ? [{ amount, currency, quotes: Number(quotes) }]
    : []
}

/** Compares `totals` with those of an earlier `period`. */
async function compareWith(
  db: Kysely<Tables>,
  { baseCurrency }: Company,
  request: DatedRequest,
  { period, totals }: { period: Period; totals: Totals },
): Promise<Stats['comparison']> {
  const rows = await queryTotals(db, request, period, {
    baseDigits: requireCurrencyDigits(baseCurrency),
    lists: false,
  }).execute()
  const previous = toTotals(rows, baseCurrency)
  /** Returns (now − before) ÷ before; null if there was nothing before. */
  const change = (figureOf: (totals: Totals) => string | number) =>
    divide(subtract(figureOf(totals), figureOf(previous)), figureOf(previous), ratioDecimals)
  return {
    period,
    ...previous,
    change: {
      quotes: change(({ quotes }) => quotes.total),
      accepted: change(({ quotes }) => quotes.byStatus.accepted),
      revenue: change(({ revenue }) => revenue.total.amount),
    },
  }
}
