// Checks the period that a request names: existing days, their order and their number.
import { countDays, countDaysIncluded, isLocalDate } from '../company/calendar.ts'
import { createInvalidParameterProblem } from '../http/problem-details.ts'
import { maxListedDays, type StatsQuery } from './schema.ts'

const maxSpanYears = 200
const maxSpanDays = maxSpanYears * 366
/** An error quotes at most this much of an invalid day. */
const maxQuotedCharacters = 40

/**
 * Throws 400 if a day does not exist, if `from` is later than `to`, if they span too many years, or
 * if `by=day` would list too many days.
 */
export function checkPeriod({ from, to, by }: StatsQuery, today: string): void {
  if (from !== undefined) checkDay('from', from)
  if (to !== undefined) checkDay('to', to)
  if (from !== undefined && to !== undefined) checkSpan(from, to)
  else checkDistanceFromToday({ from, to }, today)
  if (by === 'day') checkListedDays(from, to)
}

/**
 * An open end becomes the day of the first or last quote. That day is not known yet, so the given
 * end is compared with today.
 */
function checkDistanceFromToday(
  { from, to }: { from: string | undefined; to: string | undefined },
  today: string,
): void {
  if (from !== undefined && countDays(from, today) > maxSpanDays)
    throw createInvalidParameterProblem('from', `${from} is more than ${maxSpanYears} years ago`)
  if (to !== undefined && countDays(today, to) > maxSpanDays)
    throw createInvalidParameterProblem('to', `${to} is more than ${maxSpanYears} years from now`)
}

function checkListedDays(from: string | undefined, to: string | undefined): void {
  if (from !== undefined && to !== undefined && countDaysIncluded(from, to) <= maxListedDays) return
  throw createInvalidParameterProblem(
    'by',
    `day needs both from and to, which may cover at most ${maxListedDays} days`,
  )
}

function checkDay(parameter: 'from' | 'to', day: string): void {
  if (isLocalDate(day)) return
  const quoted = `"${day.slice(0, maxQuotedCharacters)}"`
  throw createInvalidParameterProblem(
    parameter,
    `${quoted} is not an existing day from year 1000 to 9999: write YYYY-MM-DD`,
  )
}

function checkSpan(from: string, to: string): void {
  if (from > to) throw createInvalidParameterProblem('from', `${from} is later than to (${to})`)
  if (countDays(from, to) > maxSpanDays)
    throw createInvalidParameterProblem(
      'from',
      `${from} is more than ${maxSpanYears} years before to (${to})`,
    )
}
