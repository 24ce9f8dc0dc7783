// The comparison period: the previous period or the previous year.
import { addDays, countDays, subtractYear } from '../company/calendar.ts'
import type { Period } from './schema.ts'

const firstDayOfCalendar = '0001-01-01'

/**
 * `previous_year` is the same dates one year earlier. `previous_period` is as many days as the
 * period has, directly before it.
 */
export function comparisonPeriod(
  period: Period,
  compare: 'previous_period' | 'previous_year',
): Period {
  if (compare === 'previous_year')
    return { ...period, from: subtractYear(period.from), to: subtractYear(period.to) }
  // A single misdated quote can make the period longer than the calendar before it.
  const days = Math.min(
    countDays(period.from, period.to) + 1,
    countDays(firstDayOfCalendar, period.from),
  )
  return { ...period, from: addDays(period.from, -days), to: addDays(period.from, -1) }
}
