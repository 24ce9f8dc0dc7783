// Converts the filters of the dashboard to and from the address of the page, so that they can be
// bookmarked and shared, and to the query for /api/stats.
import { needsDays } from '../sections/timeline/timeline-intervals.js'
import { defaultDate, defaultPreset, presets } from './default-filters.js'
import { isDay, periodOf, periodOfInterval } from './preset-and-adjacent-periods.js'

/** @import { Period } from './preset-and-adjacent-periods.js' */
/** @typedef {'month' | 'year' | '12m' | 'all' | 'custom'} Preset */
/**
 * @typedef {object} Filters Values from the address are kept unchanged: the service validates them.
 * @property {Preset} preset `custom` has a fixed period; the others depend on the current day.
 * @property {string} from
 * @property {string} to
 * @property {string} country '' means all
 * @property {string} currency '' means all
 * @property {string} date `issued` or `accepted`
 * @property {string} compare '' means no comparison
 * @property {string} by `day`, `month` or `year`; '' chooses by the length of the period
 * @property {string} within the period in which the visitor selected this one: the name of a
 *   preset, or two days; '' for none
 */

/** Separates the two days of `within` in the address. */
const daysSeparator = '..'

/** Reads the filters from the query of the address. @param {string} search @returns {Filters} */
export function readFilters(search) {
  const parameters = new URLSearchParams(search)
  /** @param {string} name */
  const read = (name) => parameters.get(name) ?? ''
  const preset = presets.find((name) => name === read('period')) ?? defaultPreset
  return {
    preset: parameters.has('from') || parameters.has('to') ? 'custom' : preset,
    from: read('from'),
    to: read('to'),
    country: read('country'),
    currency: read('currency'),
    date: read('date') || defaultDate,
    compare: read('compare'),
    by: read('by'),
    within: originPeriod(read('within')) ? read('within') : '',
  }
}

/**
 * Returns the query of the address, without default values.
 * @param {Filters} filters
 * @param {string | null} lang the parameter `lang`, which the page must keep
 */
export function addressOf(filters, lang) {
  const { preset, from, to, country, currency, date, compare, by, within } = filters
  return `?${withoutEmpty({
    from: preset === 'custom' ? from : '',
    to: preset === 'custom' ? to : '',
    period: preset === 'custom' || preset === defaultPreset ? '' : preset,
    country,
    currency,
    date: date === defaultDate ? '' : date,
    compare,
    by,
    within: preset === 'custom' ? within : '',
    lang: lang ?? '',
  })}`
}

/** Returns the query for /api/stats. @param {Filters} filters @param {string} today */
export function statsQueryOf(filters, today) {
  const { date, country, currency, compare, by } = filters
  const period = periodOf(filters, today)
  return withoutEmpty({
    ...period,
    date: date === defaultDate ? '' : date,
    country,
    currency,
    compare,
    by: needsDays(period, by) ? 'day' : '',
  })
}

/**
 * Returns the filters of the period in which the visitor selected another one, or null.
 * @param {string} within
 * @returns {Pick<Filters, 'preset' | 'from' | 'to'> | null}
 */
export function originPeriod(within) {
  const preset = presets.find((name) => name === within)
  if (preset) return { preset, from: '', to: '' }
  const [from = '', to = '', ...rest] = within.split(daysSeparator)
  return isDay(from) && isDay(to) && rest.length === 0 ? { preset: 'custom', from, to } : null
}

/**
 * Returns the filters for a year, a month or a day of the shown period. They keep the period from
 * which the visitor started.
 * @param {Filters} filters
 * @param {Period} shownPeriod
 * @param {string} name
 * @returns {Pick<Filters, 'preset' | 'from' | 'to' | 'by' | 'within'>}
 */
export function selectInterval({ preset, within }, shownPeriod, name) {
  const period = periodOfInterval(name)
  const { from, to } = shownPeriod
  const isShown = period.from === from && period.to === to
  const origin = preset === 'custom' ? [from, to].join(daysSeparator) : preset
  return { preset: 'custom', ...period, by: '', within: within || (isShown ? '' : origin) }
}

/** @param {Record<string, string>} parameters */
function withoutEmpty(parameters) {
  const entries = Object.entries(parameters).filter(([, value]) => value !== '')
  return new URLSearchParams(entries).toString()
}
