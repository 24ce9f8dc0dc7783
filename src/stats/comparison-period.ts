// The comparison period: the previous period or the previous year.
import {
  addDays,
  countDays,
  countDaysIncluded,
  countMonths,
  getMonthBounds,
  subtractMonths,
  subtractYear,
} from '../company/calendar.ts'
import type { Period } from './schema.ts'

const firstDayOfCalendar = '0001-01-01'
const monthsOfYear = 12

/**
 * Whole months are compared with as many months before, or with the same months a year before.
 * Other days are compared with as many days before, or with the same dates a year before. If a
 * period has begun and ends after `today`, only its days up to `today` are compared.
 */
export function chooseComparisonPeriod(
  period: Period,
  compare: 'previous_period' | 'previous_year',
  today: string,
): Period {
  const { from, to } = period
  const lastComparedDay = from <= today && today < to ? today : to
  if (isComparedByMonth(period, today)) {
    // Without enough months of the calendar before `from`, days are compared: see daysBefore.
    const months = compare === 'previous_year' ? monthsOfYear : countMonths(from, to)
    if (months < countMonths(firstDayOfCalendar, from))
      return {
        ...period,
        from: subtractMonths(from, months),
        to: subtractMonths(lastComparedDay, months),
      }
  }
  if (compare === 'previous_year')
    return { ...period, from: subtractYear(from), to: subtractYear(lastComparedDay) }
  return { ...period, ...daysBefore(period, lastComparedDay) }
}

/**
 * True if the period starts on the first of a month and either ends on the last day of a month, or
 * ends in the current month or later. So 1 to 21 November is compared with 1 to 21 October, and 1
 * to 15 November with 1 to 15 October, throughout November.
 */
function isComparedByMonth({ from, to }: Period, today: string): boolean {
  if (from !== getMonthBounds(monthKey(from)).first) return false
  return to === getMonthBounds(monthKey(to)).last || monthKey(to) >= monthKey(today)
}

/** Returns YYYY-MM. */
const monthKey = (day: string) => day.slice(0, 7)

function daysBefore({ from, to }: Period, lastComparedDay: string): Pick<Period, 'from' | 'to'> {
  const days = countDaysIncluded(from, to)
  // A single misdated quote can make the period longer than the calendar before it.
  if (days > countDays(firstDayOfCalendar, from))
    return { from: firstDayOfCalendar, to: addDays(from, -1) }
  return { from: addDays(from, -days), to: addDays(lastComparedDay, -days) }
}
