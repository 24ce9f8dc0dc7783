// Calculates with periods. Days are YYYY-MM-DD, months YYYY-MM. An interval is a day, a month or a
// year of the timeline.

/** The first and the last day. '' means the first or the last day of the data. */
export type Period = { from: string; to: string }
export type IntervalKind = 'day' | 'month' | 'year'

const msPerDay = 86_400_000
/** Longer periods are shown by years, unless the visitor asks for months. */
const maxMonths = 36
/** In longer periods the visitor can choose years. */
const maxMonthsWithoutYears = 12
/** The service lists the days of periods of at most this length. */
const maxDays = 92

/**
 * Returns the period of the same length before (-1) or after (1). Next to whole months are whole
 * months, whatever their number of days. Returns null if that period begins after today.
 */
export function adjacentPeriod(
  preset: string,
  { from, to }: Period,
  direction: -1 | 1,
  today: string,
): Period | null {
  if (preset === 'all' || !isDay(from) || !isDay(to)) return null
  const isWholeMonths =
    from.endsWith('-01') && (preset !== 'custom' || to === lastDayOf(to.slice(0, 7)))
  const adjacent = isWholeMonths
    ? shiftMonths(from, direction, preset === 'year' ? 12 : countMonths(from, to))
    : shiftDays({ from, to }, direction)
  return adjacent.from > today ? null : adjacent
}

/** Returns the period of a year (YYYY), a month (YYYY-MM) or a day. */
export function periodOfInterval(name: string): Period {
  if (name.length === 4) return { from: `${name}-01-01`, to: `${name}-12-31` }
  return name.length === 7 ? { from: `${name}-01`, to: lastDayOf(name) } : { from: name, to: name }
}

/** Returns the year, the month or the day that a period of existing days is, or null. */
export function intervalOfPeriod({ from, to }: Period): string | null {
  const names = [from, from.slice(0, 7), from.slice(0, 4)]
  return (
    names.find((name) => {
      const period = periodOfInterval(name)
      return period.from === from && period.to === to
    }) ?? null
  )
}

/**
 * Returns whether to request the days of a period: if it lies within one month, unless the visitor
 * asks for months or years, and of a quarter if the visitor asks for days.
 */
export function needsDays({ from, to }: Period, by: string): boolean {
  if (!offersDays({ from, to })) return false
  return by === 'day' || (by === '' && from.slice(0, 7) === to.slice(0, 7))
}

/** Returns whether months are so many that the timeline shows years. */
export const needsYears = (months: number): boolean => months > maxMonths

/** Returns what the timeline shows. `by` is the visitor's choice, '' for none. */
export function chooseInterval(
  { byDay, byMonth }: { byDay?: unknown[]; byMonth: unknown[] },
  by: string,
): IntervalKind {
  if (byDay) return 'day'
  return by === 'year' || (by !== 'month' && needsYears(byMonth.length)) ? 'year' : 'month'
}

/** Returns the kinds of intervals that the visitor can choose. A single one is no choice. */
export function offeredIntervals(period: Period, months: number): IntervalKind[] {
  const kinds = [
    offersDays(period) && 'day',
    months > 1 && 'month',
    months > maxMonthsWithoutYears && 'year',
  ] as const
  return kinds.filter((kind) => kind !== false)
}

function offersDays({ from, to }: Period): boolean {
  return isDay(from) && isDay(to) && from <= to && countDays({ from, to }) <= maxDays
}

/** Returns the current day in a time zone. */
export function todayIn(timeZone: string): string {
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  })
  // No language writes YYYY-MM-DD in every browser: WebKitGTK writes Canadian dates as 11/23/2026.
  const parts = format.formatToParts(new Date())
  return ['year', 'month', 'day']
    .map((type) => parts.find((part) => part.type === type)?.value)
    .join('-')
}

/** Returns whether a text is an existing day. */
export function isDay(text: string): boolean {
  const instant = Date.parse(`${text}T00:00:00Z`)
  return (
    /^\d{4}-\d\d-\d\d$/.test(text) &&
    !Number.isNaN(instant) &&
    new Date(instant).toISOString().startsWith(text)
  )
}

function shiftMonths(from: string, direction: -1 | 1, months: number): Period {
  const firstMonth = addMonths(from.slice(0, 7), direction * months)
  return { from: `${firstMonth}-01`, to: lastDayOf(addMonths(firstMonth, months - 1)) }
}

function shiftDays({ from, to }: Period, direction: -1 | 1): Period {
  const days = direction * countDays({ from, to })
  return { from: addDays(from, days), to: addDays(to, days) }
}

/** Returns the number of days, both ends included. */
const countDays = ({ from, to }: Period): number => dayNumber(to) - dayNumber(from) + 1

/** Returns the number of months from one day to another, both included. */
export const countMonths = (from: string, to: string): number =>
  monthNumber(to) - monthNumber(from) + 1

const monthNumber = (day: string) => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7)) - 1

export function addMonths(month: string, months: number): string {
  const number = monthNumber(month) + months
  const year = String(Math.floor(number / 12)).padStart(4, '0')
  return `${year}-${String((number % 12) + 1).padStart(2, '0')}`
}

const lastDayOf = (month: string) => addDays(`${addMonths(month, 1)}-01`, -1)

const dayNumber = (day: string) => Date.parse(`${day}T00:00:00Z`) / msPerDay

function addDays(day: string, days: number): string {
  return new Date((dayNumber(day) + days) * msPerDay).toISOString().slice(0, 10)
}
