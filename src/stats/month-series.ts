// The months of a period in order: months without quotes are filled with zeros.
import { getMonthBounds, listMonths } from '../company/calendar.ts'
import { type PeriodTotals, zeroAmount } from './period-totals.ts'
import type { Period, Stats } from './schema.ts'

/**
 * Returns one entry for every month that the period touches. A month is partial if the period
 * starts or ends within it, or if its last day is today or later.
 */
export function fillMonthSeries(
  { byMonth, revenue: { currency } }: PeriodTotals,
  period: Period,
  today: string,
): Stats['byMonth'] {
  const totalsByMonth = new Map(byMonth.map((totals) => [totals.month, totals]))
  const revenue = { amount: zeroAmount(currency), currency }
  return listMonths(period.from, period.to).map((month) => {
    const { first, last } = getMonthBounds(month)
    const totals = totalsByMonth.get(month) ?? { quotes: 0, accepted: 0, revenue }
    return {
      month,
      partial: first < period.from || last > period.to || last >= today,
      quotes: totals.quotes,
      accepted: totals.accepted,
      revenue: totals.revenue,
    }
  })
}
