// Converts the filters of the dashboard to and from the address of the page, so that they can be
// bookmarked and shared, and to the query for /api/stats.
import { defaultDate, defaultPreset, presets } from './default-filters.js'
import { periodOf } from './preset-and-adjacent-periods.js'

/** @typedef {'month' | 'year' | '12m' | 'all' | 'custom'} Preset */
/**
 * @typedef {object} Filters Values from the address are kept unchanged: the service validates them.
 * @property {Preset} preset `custom` has a fixed period; the others depend on the current day.
 * @property {string} from
 * @property {string} to
 * @property {string} country '' means all
 * @property {string} date `issued` or `accepted`
 * @property {string} compare '' means no comparison
 * @property {string} by `month` or `year`; '' chooses by the length of the period
 */

/**
 * Reads the filters from the query of the address.
 * @param {string} search
 * @returns {Filters}
 */
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
    date: read('date') || defaultDate,
    compare: read('compare'),
    by: read('by'),
  }
}

/**
 * Returns the query of the address, without default values.
 * @param {Filters} filters
 * @param {string | null} lang the parameter `lang`, which the page must keep
 */
export function addressOf({ preset, from, to, country, date, compare, by }, lang) {
  return `?${withoutEmpty({
    from: preset === 'custom' ? from : '',
    to: preset === 'custom' ? to : '',
    period: preset === 'custom' || preset === defaultPreset ? '' : preset,
    country,
    date: date === defaultDate ? '' : date,
    compare,
    by,
    lang: lang ?? '',
  })}`
}

/**
 * Returns the query for /api/stats.
 * @param {Filters} filters
 * @param {string} today
 */
export function statsQueryOf(filters, today) {
  const { date, country, compare } = filters
  return withoutEmpty({
    ...periodOf(filters, today),
    date: date === defaultDate ? '' : date,
    country,
    compare,
  })
}

/** @param {Record<string, string>} parameters */
function withoutEmpty(parameters) {
  const entries = Object.entries(parameters).filter(([, value]) => value !== '')
  return new URLSearchParams(entries).toString()
}
