// Calculates with local dates (YYYY-MM-DD) and months (YYYY-MM) of the company, both as text.

const dayMs = 86_400_000

/**
 * Returns the local date at `instant` in an IANA time zone.
 * Throws RangeError for an unknown time zone.
 */
export function toLocalDate(timeZone: string, instant: Date): string {
  return getDateFormat(timeZone).format(instant)
}

/**
 * Returns a function that gives the current local date in a time zone. It formats the date once a
 * second, because formatting costs as much as all other work for cached statistics. A day begins
 * with a new second.
 */
export function createLocalDateReader(timeZone: string, clock: () => Date): () => string {
  let [second, date] = [Number.NaN, '']
  return () => {
    const now = clock()
    const currentSecond = Math.floor(now.getTime() / 1_000)
    if (currentSecond !== second) [second, date] = [currentSecond, toLocalDate(timeZone, now)]
    return date
  }
}

/** Returns true for an existing day of the years 1000 to 9999 in the form YYYY-MM-DD. */
export function isLocalDate(text: string): boolean {
  if (!/^[1-9]\d{3}-\d\d-\d\d$/.test(text)) return false
  const date = toUtcMidnight(text)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

export function addDays(date: string, days: number): string {
  const result = toUtcMidnight(date)
  result.setUTCDate(result.getUTCDate() + days)
  return result.toISOString().slice(0, 10)
}

export function countDays(from: string, to: string): number {
  return Math.round((toUtcMidnight(to).getTime() - toUtcMidnight(from).getTime()) / dayMs)
}

/** Returns the number of days from `first` to `last`, both included. */
export function countDaysIncluded(first: string, last: string): number {
  return countDays(first, last) + 1
}

/** Returns the same date one year earlier. 29 February becomes 28 February. */
export function subtractYear(date: string): string {
  const result = `${padYear(Number(date.slice(0, 4)) - 1)}${date.slice(4)}`
  return result.endsWith('-02-29') ? `${result.slice(0, 8)}28` : result
}

/**
 * Returns the same day `months` earlier. The last day of a month becomes the last day of the
 * earlier month, and so does a day that the earlier month lacks.
 */
export function subtractMonths(date: string, months: number): string {
  const monthIndex = monthIndexOf(date) - months
  const year = padYear(Math.floor(monthIndex / 12))
  const month = `${year}-${String((monthIndex % 12) + 1).padStart(2, '0')}`
  const { last } = getMonthBounds(month)
  if (date === getMonthBounds(date.slice(0, 7)).last) return last
  const sameDay = `${month}-${date.slice(8)}`
  return sameDay < last ? sameDay : last
}

/** Returns the number of months from the month of `from` to the month of `to`, both included. */
export function countMonths(from: string, to: string): number {
  return monthIndexOf(to) - monthIndexOf(from) + 1
}

export function listMonths(from: string, to: string): string[] {
  const last = to.slice(0, 7)
  let month = from.slice(0, 7)
  const months = [month]
  while (month < last) {
    month = getNextMonth(month)
    months.push(month)
  }
  return months
}

export function getMonthBounds(month: string): { first: string; last: string } {
  const [year = 0, number = 0] = month.split('-').map(Number)
  const lastDay = new Date(Date.UTC(year, number, 0)).getUTCDate()
  return { first: `${month}-01`, last: `${month}-${lastDay}` }
}

const dateFormats = new Map<string, Intl.DateTimeFormat>()

function getDateFormat(timeZone: string): Intl.DateTimeFormat {
  let format = dateFormats.get(timeZone)
  if (!format) {
    // Canadian English writes dates as YYYY-MM-DD.
    format = new Intl.DateTimeFormat('en-CA', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    })
    dateFormats.set(timeZone, format)
  }
  return format
}

function monthIndexOf(date: string): number {
  return Number(date.slice(0, 4)) * 12 + Number(date.slice(5, 7)) - 1
}

function toUtcMidnight(date: string): Date {
  return new Date(`${date}T00:00:00Z`)
}

function getNextMonth(month: string): string {
  const year = Number(month.slice(0, 4))
  const number = Number(month.slice(5, 7))
  return number === 12
    ? `${padYear(year + 1)}-01`
    : `${padYear(year)}-${String(number + 1).padStart(2, '0')}`
}

/** Pads a year to four digits. A comparison period may be before the year 1000. */
function padYear(year: number): string {
  return String(year).padStart(4, '0')
}
