// Days and months of the company's local calendar, as text: YYYY-MM-DD and YYYY-MM. No time of day, no Date arithmetic across zones.

/** The day that it is at `instant` in an IANA time zone. Throws RangeError for an unknown zone. */
export function toLocalDate(timeZone: string, instant: Date): string {
  return dayFormat(timeZone).format(instant)
}

const dayFormats = new Map<string, Intl.DateTimeFormat>()
function dayFormat(timeZone: string): Intl.DateTimeFormat {
  let format = dayFormats.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-CA', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    })
    dayFormats.set(timeZone, format)
  }
  return format
}

/** Whether a text is a day that exists, between the years 1000 and 9999. */
export function isLocalDate(text: string): boolean {
  if (!/^[1-9]\d{3}-\d\d-\d\d$/.test(text)) return false
  const date = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text)
}

/** The day `days` later (earlier when negative). */
export function addDays(date: string, days: number): string {
  const moved = new Date(`${date}T00:00:00Z`)
  moved.setUTCDate(moved.getUTCDate() + days)
  return moved.toISOString().slice(0, 10)
}

/** How many days `to` lies after `from`. */
export function countDays(from: string, to: string): number {
  return Math.round((Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / 86_400_000)
}

/** The same date a year before; 29 February becomes 28. */
export function subtractYear(date: string): string {
  const before = `${padded(Number(date.slice(0, 4)) - 1)}${date.slice(4)}`
  return before.endsWith('-02-29') ? `${before.slice(0, 8)}28` : before
}

/** Every month from that of `from` to that of `to`, both included. */
export function listMonths(from: string, to: string): string[] {
  const months: string[] = []
  const last = to.slice(0, 7)
  // Not by comparing texts: after 9999-12 they would go on for ever.
  for (let month = from.slice(0, 7); ; month = monthAfter(month)) {
    months.push(month)
    if (month >= last) return months
  }
}

/** First and last day of a month. */
export function getMonthBounds(month: string): { first: string; last: string } {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return {
    first: `${month}-01`,
    last: `${month}-${new Date(Date.UTC(year, number, 0)).getUTCDate()}`,
  }
}

function monthAfter(month: string): string {
  const year = Number(month.slice(0, 4))
  const number = Number(month.slice(5, 7))
  return number === 12
    ? `${padded(year + 1)}-01`
    : `${padded(year)}-${String(number + 1).padStart(2, '0')}`
}

/** What is compared with may lie before the year 1000. */
const padded = (year: number) => String(year).padStart(4, '0')
