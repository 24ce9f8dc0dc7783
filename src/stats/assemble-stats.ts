// Assembles the answer from totals: period, rates, average, months, comparison.
import type { Kysely } from 'kysely'
import type { Company } from '../company/company.ts'
import { getCurrencyDigits } from '../company/money.ts'
import type { Tables } from '../database/table-types.ts'
import { acceptanceRates } from './acceptance-rates.ts'
import { comparisonPeriod } from './comparison-period.ts'
import { divide, subtract } from './exact-decimals.ts'
import { fillMonthSeries } from './month-series.ts'
import { resolvePeriod } from './period.ts'
import type { PeriodTotals, TotalsSource } from './period-totals.ts'
import type { Period, Stats, StatsRequest, StatsWithoutAsOf } from './schema.ts'

/**
 * Computes the statistics of a period and of its comparison period. `db` must be a single snapshot:
 * otherwise a breakdown might not add up to its total.
 */
export async function assembleStats(
  db: Kysely<Tables>,
  company: Company,
  request: StatsRequest,
  source: TotalsSource,
): Promise<StatsWithoutAsOf> {
  const period = await resolvePeriod(db, company, request, source)
  const totals = await source.readTotals(db, company, request, period)
  const { compare, today } = request
  return {
    period,
    ...countsAndRevenue(totals),
    byCountry: totals.byCountry,
    byMonth: fillMonthSeries(totals, period, today),
    comparison: compare
      ? await compareWith(comparisonPeriod(period, compare, today), totals, {
          db,
          company,
          request,
          source,
        })
      : null,
  }
}

type Context = {
  db: Kysely<Tables>
  company: Company
  request: StatsRequest
  source: TotalsSource
}

async function compareWith(
  period: Period,
  totals: PeriodTotals,
  { db, company, request, source }: Context,
): Promise<Stats['comparison']> {
  // Both ends are fixed here, also where the request leaves an end of its own period open.
  const fixedRequest = { ...request, from: period.from, to: period.to }
  const previous = await source.readTotals(db, company, fixedRequest, period)
  return { period, ...countsAndRevenue(previous), change: relativeChange(totals, previous) }
}

function countsAndRevenue(totals: PeriodTotals): Pick<Stats, 'quotes' | 'revenue'> {
  const { byStatus, revenue, convertedQuotes, byCurrency, unconverted } = totals
  const { currency } = revenue
  const average = divide(revenue.amount, convertedQuotes, getCurrencyDigits(currency) ?? 0)
  return {
    quotes: {
      total: countQuotes(totals),
      byStatus,
      acceptance: acceptanceRates(byStatus),
    },
    revenue: {
      total: revenue,
      average: average === null ? null : { amount: average, currency },
      byCurrency,
      unconverted,
    },
  }
}

const countQuotes = ({ byStatus }: PeriodTotals) =>
  Object.values(byStatus).reduce((sum, count) => sum + count, 0)

/** (now − before) ÷ before, with four decimals; null if the earlier value is zero. */
function relativeChange(now: PeriodTotals, before: PeriodTotals) {
  const change = (after: string | number, earlier: string | number) =>
    divide(subtract(after, earlier), earlier, 4)
  return {
    quotes: change(countQuotes(now), countQuotes(before)),
    accepted: change(now.byStatus.accepted, before.byStatus.accepted),
    revenue: change(now.revenue.amount, before.revenue.amount),
  }
}
