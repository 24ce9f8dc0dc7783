// Calculates the periods of the dashboard. Days are YYYY-MM-DD, months YYYY-MM.

/** @import { Filters, Preset } from './filter-address.js' */
/** @typedef {{ from: string, to: string }} Period the first and the last day */

const msPerDay = 86_400_000

/**
 * Returns the period of the filters. '' means from the first or to the last day of the data.
 * @param {Filters} filters
 * @param {string} today
 * @returns {Period}
 */
export function periodOf({ preset, from, to }, today) {
  if (preset === 'month') return { from: `${today.slice(0, 7)}-01`, to: today }
  if (preset === 'year') return { from: `${today.slice(0, 4)}-01-01`, to: today }
  if (preset === '12m') return { from: `${addMonths(today.slice(0, 7), -11)}-01`, to: today }
  return preset === 'custom' ? { from, to } : { from: '', to: '' }
}

/**
 * Returns the period of the same length before (-1) or after (1). Next to whole months are whole
 * months, whatever their number of days. Returns null if that period begins after today.
 * @param {Preset} preset
 * @param {Period} period
 * @param {-1 | 1} direction
 * @param {string} today
 */
export function adjacentPeriod(preset, { from, to }, direction, today) {
  const isWholeMonths =
    from.endsWith('-01') && (preset !== 'custom' || to === lastDayOf(to.slice(0, 7)))
  const adjacent = isWholeMonths
    ? shiftMonths({ from, to }, direction, preset === 'year' ? 12 : countMonths(from, to))
    : shiftDays({ from, to }, direction)
  return adjacent.from > today ? null : adjacent
}

/**
 * Returns the period of a year (YYYY), a month (YYYY-MM) or a day.
 * @param {string} name
 * @returns {Period}
 */
export function periodOfInterval(name) {
  if (name.length === 4) return { from: `${name}-01-01`, to: `${name}-12-31` }
  return name.length === 7 ? { from: `${name}-01`, to: lastDayOf(name) } : { from: name, to: name }
}

/**
 * Returns the year, the month or the day that a period of existing days is, or null if it is none.
 * @param {Period} period
 */
export function intervalOfPeriod({ from, to }) {
  const names = [from, from.slice(0, 7), from.slice(0, 4)]
  return (
    names.find((name) => {
      const period = periodOfInterval(name)
      return period.from === from && period.to === to
    }) ?? null
  )
}

/** Returns the number of days, both ends included. @param {Period} period */
export const countDays = ({ from, to }) => dayNumber(to) - dayNumber(from) + 1

/** Returns the current day in a time zone. @param {string} timeZone */
export function todayIn(timeZone) {
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

/** Returns whether a text is an existing day. @param {string} text */
export function isDay(text) {
  const instant = Date.parse(`${text}T00:00:00Z`)
  return (
    /^\d{4}-\d\d-\d\d$/.test(text) &&
    !Number.isNaN(instant) &&
    new Date(instant).toISOString().startsWith(text)
  )
}

/** @param {Period} period @param {-1 | 1} direction @param {number} months */
function shiftMonths({ from }, direction, months) {
  const firstMonth = addMonths(from.slice(0, 7), direction * months)
  return { from: `${firstMonth}-01`, to: lastDayOf(addMonths(firstMonth, months - 1)) }
}

/** @param {Period} period @param {-1 | 1} direction */
function shiftDays({ from, to }, direction) {
  const days = direction * countDays({ from, to })
  return { from: addDays(from, days), to: addDays(to, days) }
}

/**
 * Returns the number of months from one day to another, both included.
 * @param {string} from
 * @param {string} to
 */
export const countMonths = (from, to) => monthNumber(to) - monthNumber(from) + 1

/** @param {string} day or month */
const monthNumber = (day) => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7)) - 1

/** @param {string} month @param {number} months */
function addMonths(month, months) {
  const number = monthNumber(month) + months
  const year = String(Math.floor(number / 12)).padStart(4, '0')
  return `${year}-${String((number % 12) + 1).padStart(2, '0')}`
}

/** @param {string} month */
const lastDayOf = (month) => addDays(`${addMonths(month, 1)}-01`, -1)

/** @param {string} day */
const dayNumber = (day) => Date.parse(`${day}T00:00:00Z`) / msPerDay

/** @param {string} day @param {number} days */
function addDays(day, days) {
  return new Date((dayNumber(day) + days) * msPerDay).toISOString().slice(0, 10)
}
