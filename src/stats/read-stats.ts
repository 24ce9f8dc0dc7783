// Computes the statistics from one snapshot of the database: period, rates, average, months, days
// and comparison.
import type { Kysely, Transaction } from 'kysely'
import { addDays, countDaysIncluded, getMonthBounds, listMonths } from '../company/calendar.ts'
import type { Company } from '../company/company-file.ts'
import { requireCurrencyDigits } from '../company/currencies.ts'
import { retryIfConnectionBreaks } from '../database/failover/retry-reads.ts'
import type { Tables } from '../database/table-types.ts'
import { computeAcceptanceRates } from './acceptance-rates.ts'
import type { Moment } from './cache/moments.ts'
import { chooseComparisonPeriod } from './comparison-period.ts'
import { computeDaysToDecision } from './days-to-decision.ts'
import { divide, subtract } from './exact-decimals.ts'
import { resolvePeriod } from './resolve-period.ts'
import {
  type DatedRequest,
  type Period,
  ratioDecimals,
  type Stats,
  type StatsRequest,
  type StatsWithoutAsOf,
} from './schema.ts'
import {
  createEmptyTotals,
  type GroupTotals,
  type PeriodTotals,
  readDayTotals,
  readPeriodTotals,
} from './summary/period-totals.ts'
import { readBreakdown } from './summary/read-breakdown.ts'
import { rangeOf } from './summary/summary-grains.ts'
import { prepareSnapshot } from './summary/summary-query.ts'
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
  const totals = await readPeriodTotals(snapshot, company, request, {
    range: rangeOf(request),
    byCountryAndMonth: true,
  })
  const period = await resolvePeriod(snapshot, company, request, totals)
  const { compare, today } = request
  return {
    period,
    ...toCountsAndRevenue(totals, baseCurrency),
    byCountry: totals.byCountry.map((group) => ({
      country: group.country,
      ...toGroupStats(group, baseCurrency),
    })),
    byMonth: fillMonths(totals.byMonth, { period, today, baseCurrency }),
    ...(request.by === 'day' && { byDay: await readDays(snapshot, company, request, period) }),
    ...(await readBreakdown(snapshot, company, request, rangeOf(request))),
    comparison: compare
      ? await compareWith(snapshot, company, request, {
          period: chooseComparisonPeriod(period, compare, today),
          totals,
        })
      : null,
  }
}

/** Returns one entry for every day of the period. A day is partial until it is over. */
async function readDays(
  db: Kysely<Tables>,
  company: Company,
  request: DatedRequest,
  { from, to }: Period,
): Promise<NonNullable<Stats['byDay']>> {
  const totals = await readDayTotals(db, company, request, { from, to })
  const totalsByDay = new Map(totals.map((day) => [day.day, day]))
  const empty = createEmptyTotals(company.baseCurrency)
  return Array.from({ length: countDaysIncluded(from, to) }, (_, index) => {
    const day = addDays(from, index)
    const group = totalsByDay.get(day) ?? empty
    return { day, partial: day >= request.today, ...toGroupStats(group, company.baseCurrency) }
  })
}

/** Compares `totals` with those of an earlier `period`. */
async function compareWith(
  db: Kysely<Tables>,
  company: Company,
  request: DatedRequest,
  { period, totals }: { period: Period; totals: PeriodTotals },
): Promise<Stats['comparison']> {
  const previous = await readPeriodTotals(db, company, request, {
    range: period,
    byCountryAndMonth: false,
  })
  return {
    period,
    ...toCountsAndRevenue(previous, company.baseCurrency),
    change: computeChange(totals.total, previous.total),
  }
}

function toCountsAndRevenue(
  { total, convertedQuotes, byCurrency, unconvertedByCurrency }: PeriodTotals,
  currency: string,
): Pick<Stats, 'quotes' | 'revenue'> {
  const average = divide(total.money.won, convertedQuotes, requireCurrencyDigits(currency))
  return {
    quotes: { total: countQuotes(total), ...toOutcomes(total, currency) },
    revenue: {
      total: { amount: total.money.won, currency },
      average: average === null ? null : { amount: average, currency },
      byCurrency,
      unconverted: unconvertedByCurrency,
    },
  }
}

function toGroupStats(totals: GroupTotals, currency: string) {
  return {
    quotes: countQuotes(totals),
    accepted: totals.byStatus.accepted,
    revenue: { amount: totals.money.won, currency },
    ...toOutcomes(totals, currency),
  }
}

/** Returns the part of the response that is the same for a period, a country, a month and a day. */
function toOutcomes(totals: GroupTotals, currency: string): Omit<Stats['quotes'], 'total'> {
  const { byStatus, money, daysToDecision } = totals
  return {
    byStatus,
    money: {
      open: { amount: money.open, currency },
      won: { amount: money.won, currency },
      lost: { amount: money.lost, currency },
    },
    acceptance: computeAcceptanceRates(totals),
    daysToDecision: computeDaysToDecision(daysToDecision),
  }
}

const countQuotes = ({ byStatus }: GroupTotals) =>
  Object.values(byStatus).reduce((sum, count) => sum + count, 0)

/** Returns (current − previous) ÷ previous; null if the previous value is zero. */
function computeChange(current: GroupTotals, previous: GroupTotals) {
  const change = (currentValue: string | number, previousValue: string | number) =>
    divide(subtract(currentValue, previousValue), previousValue, ratioDecimals)
  return {
    quotes: change(countQuotes(current), countQuotes(previous)),
    accepted: change(current.byStatus.accepted, previous.byStatus.accepted),
    revenue: change(current.money.won, previous.money.won),
  }
}

/**
 * Returns one entry for every month that the period touches. A month is partial if the period
 * starts or ends within it, or if its last day is today or later.
 */
function fillMonths(
  byMonth: PeriodTotals['byMonth'],
  { period, today, baseCurrency }: { period: Period; today: string; baseCurrency: string },
): Stats['byMonth'] {
  const totalsByMonth = new Map(byMonth.map((totals) => [totals.month, totals]))
  const empty = createEmptyTotals(baseCurrency)
  return listMonths(period.from, period.to).map((month) => {
    const { first, last } = getMonthBounds(month)
    const partial = first < period.from || last > period.to || last >= today
    return { month, partial, ...toGroupStats(totalsByMonth.get(month) ?? empty, baseCurrency) }
  })
}
