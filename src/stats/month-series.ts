// The months of a period in order: months without quotes are filled with zeros.
import { getMonthBounds, listMonths } from '../company/calendar.ts'
import { emptyGroupTotals, type GroupTotals, type PeriodTotals } from './period-totals-type.ts'
import type { Period } from './schema.ts'

export type MonthTotals = GroupTotals & { month: string; partial: boolean }

/**
 * Returns one entry for every month that the period touches. A month is partial if the period
 * starts or ends within it, or if its last day is today or later.
 */
export function fillMonthSeries(
  byMonth: PeriodTotals['byMonth'],
  { period, today, baseCurrency }: { period: Period; today: string; baseCurrency: string },
): MonthTotals[] {
  const totalsByMonth = new Map(byMonth.map((totals) => [totals.month, totals]))
  const empty = emptyGroupTotals(baseCurrency)
  return listMonths(period.from, period.to).map((month) => {
    const { first, last } = getMonthBounds(month)
    return {
      ...(totalsByMonth.get(month) ?? empty),
      month,
      partial: first < period.from || last > period.to || last >= today,
    }
  })
}
