// What is looked at: it stands in the address, so that it can be kept, sent, and gone back to.

/** @typedef {'month' | 'year' | '12m' | 'all' | 'custom'} Span */
/**
 * `custom` has days of its own; the other spans move with the day. Texts that the service has to judge are kept as they are given.
 * @typedef {{ span: Span, from: string, to: string, country: string, date: string, compare: string, by: string }} Filters
 */

export const spans = /** @type {const} */ (['month', 'year', '12m', 'all'])
const usual = '12m'

/**
 * @param {string} search
 * @returns {Filters}
 */
export function readFilters(search) {
  const given = new URLSearchParams(search)
  /** @param {string} name */
  const text = (name) => given.get(name) ?? ''
  const isCustom = given.has('from') || given.has('to')
  return {
    span: isCustom ? 'custom' : (spans.find((span) => span === given.get('period')) ?? usual),
    from: text('from'),
    to: text('to'),
    country: text('country'),
    date: text('date') || 'issued',
    compare: text('compare'),
    by: text('by'),
  }
}

/**
 * The query of the page's address: what is as usual is left out. `lang` stays as it was given.
 * @param {Filters} filters
 * @param {string | null} lang
 */
export function addressOf({ span, from, to, country, date, compare, by }, lang) {
  const given = new URLSearchParams()
  if (span === 'custom') {
    if (from) given.set('from', from)
    if (to) given.set('to', to)
  } else if (span !== usual) given.set('period', span)
  if (country) given.set('country', country)
  if (date !== 'issued') given.set('date', date)
  if (compare) given.set('compare', compare)
  if (by) given.set('by', by)
  if (lang) given.set('lang', lang)
  const query = given.toString()
  return query === '' ? '?' : `?${query}`
}

/**
 * The query that is asked of /api/stats.
 * @param {Filters} filters
 * @param {string} today
 */
export function questionOf(filters, today) {
  const { from, to } = daysOf(filters, today)
  const question = new URLSearchParams()
  if (from) question.set('from', from)
  if (to) question.set('to', to)
  if (filters.date !== 'issued') question.set('date', filters.date)
  if (filters.country) question.set('country', filters.country)
  if (filters.compare) question.set('compare', filters.compare)
  return question.toString()
}

/**
 * First and last day; '' where the data decides.
 * @param {Filters} filters
 * @param {string} today
 */
export function daysOf({ span, from, to }, today) {
  if (span === 'month') return { from: `${today.slice(0, 7)}-01`, to: today }
  if (span === 'year') return { from: `${today.slice(0, 4)}-01-01`, to: today }
  if (span === '12m') return { from: `${monthLater(today.slice(0, 7), -11)}-01`, to: today }
  return span === 'custom' ? { from, to } : { from: '', to: '' }
}

/**
 * The days before (-1) or after (1) what is looked at, of the same length: months are followed by months, whatever their days. Null after today.
 * @param {Span} span
 * @param {{ from: string, to: string }} period
 * @param {-1 | 1} direction
 * @param {string} today
 */
export function neighbour(span, { from, to }, direction, today) {
  const isWholeMonths =
    from.endsWith('-01') && (span !== 'custom' || to === lastDay(to.slice(0, 7)))
  const length = span === 'year' ? 12 : monthNumber(to) - monthNumber(from) + 1
  const first = monthLater(from.slice(0, 7), direction * length)
  const days = direction * (dayNumber(to) - dayNumber(from) + 1)
  const next = isWholeMonths
    ? { from: `${first}-01`, to: lastDay(monthLater(first, length - 1)) }
    : { from: dayLater(from, days), to: dayLater(to, days) }
  return next.from > today ? null : next
}

/**
 * The days of a month (YYYY-MM) or a year (YYYY).
 * @param {string} name
 */
export function daysNamed(name) {
  return name.length === 4
    ? { from: `${name}-01-01`, to: `${name}-12-31` }
    : { from: `${name}-01`, to: lastDay(name) }
}

/**
 * The day that it is in a time zone.
 * @param {string} timeZone
 */
export function todayIn(timeZone) {
  return new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).format(new Date())
}

/**
 * Whether a text is a day that exists.
 * @param {string} text
 */
export function isDay(text) {
  const instant = Date.parse(`${text}T00:00:00Z`)
  return (
    /^\d{4}-\d\d-\d\d$/.test(text) &&
    !Number.isNaN(instant) &&
    new Date(instant).toISOString().startsWith(text)
  )
}

/** @param {string} day */
const monthNumber = (day) => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7)) - 1

/**
 * @param {string} month
 * @param {number} months
 */
function monthLater(month, months) {
  const number = monthNumber(month) + months
  return `${String(Math.floor(number / 12)).padStart(4, '0')}-${String((number % 12) + 1).padStart(2, '0')}`
}

/** @param {string} month */
const lastDay = (month) => dayLater(`${monthLater(month, 1)}-01`, -1)

/** @param {string} day */
const dayNumber = (day) => Date.parse(`${day}T00:00:00Z`) / 86_400_000

/**
 * @param {string} day
 * @param {number} days
 */
function dayLater(day, days) {
  return new Date((dayNumber(day) + days) * 86_400_000).toISOString().slice(0, 10)
}
