// Shows the way back from a selected year, month, day, country or currency: a link for each level
// above it.
import { createElement, elementById, replaceChildren } from '../../../browser/elements.js'
import { originPeriod } from '../../filters/filter-address.js'
import {
  countMonths,
  intervalOfPeriod,
  isDay,
  periodOfInterval,
} from '../../filters/preset-and-adjacent-periods.js'
import { formatInterval } from './interval-names.js'
import { needsYears } from './timeline-intervals.js'

/** @import { Filters } from '../../filters/filter-address.js' */
/** @import { PageData } from '../../page-data.js' */
/** @typedef {{ label: string, change: Partial<Filters> }} Level */
/**
 * @typedef {object} TrailOptions
 * @property {(change: Partial<Filters>) => string} addressWith
 * @property {(code: string) => string} countryName
 */

/**
 * Shows the levels above the selected period, country and currency. Hidden if there are none.
 * @param {Filters} filters
 * @param {PageData} page
 * @param {TrailOptions} options
 */
export function showTrail(filters, page, { addressWith, countryName }) {
  const { country, currency } = filters
  const periods = periodLevels(filters, page)
  /** @param {Level} level @param {string} key */
  const createLink = ({ label, change }, key) =>
    createElement(
      'li',
      {},
      createElement('a', { href: addressWith(change), 'data-key': `trail-${key}` }, label),
    )
  /** @param {string} text */
  const createCurrent = (text) =>
    createElement('li', {}, createElement('span', { 'aria-current': 'true' }, text))
  const lists = [
    periods.length > 0 && [
      ...periods.map((level, index) => createLink(level, String(index))),
      createCurrent(currentPeriod(filters, page)),
    ],
    country !== '' && [
      createLink({ label: page.texts.allCountries, change: { country: '' } }, 'country'),
      createCurrent(countryName(country)),
    ],
    currency !== '' && [
      createLink({ label: page.texts.allCurrencies, change: { currency: '' } }, 'currency'),
      createCurrent(currency),
    ],
  ].filter((items) => items !== false)
  const trail = elementById('trail', HTMLElement)
  trail.hidden = lists.length === 0
  replaceChildren(trail, ...lists.map((items) => createElement('ol', {}, ...items)))
}

/** @param {Filters} filters @param {PageData} page */
function currentPeriod({ from, to }, { formats }) {
  const name = intervalOfPeriod({ from, to })
  return name ? formatInterval(name, formats) : formats.period(from, to)
}

/**
 * Returns the levels from the period where the visitor started down to the one above the selected
 * period: years are a level if that period is shown by years, and months if a day is selected.
 * @param {Filters} filters
 * @param {PageData} page
 * @returns {Level[]}
 */
function periodLevels({ preset, from, to, within }, { texts, formats }) {
  const origin = originPeriod(within)
  if (preset !== 'custom' || !origin || !isDay(from) || !isDay(to)) return []
  const isCustom = origin.preset === 'custom'
  const label = isCustom
    ? formats.period(origin.from, origin.to)
    : texts.presets[/** @type {keyof typeof texts.presets} */ (origin.preset)]
  const startsWithYears =
    origin.preset === 'all' || (isCustom && needsYears(countMonths(origin.from, origin.to)))
  const startsWithDays =
    origin.preset === 'month' || (isCustom && origin.from.slice(0, 7) === origin.to.slice(0, 7))
  const name = intervalOfPeriod({ from, to }) ?? ''
  /** @param {number} length of the name of a year or a month @returns {Level} */
  const levelAbove = (length) => ({
    label: formatInterval(name.slice(0, length), formats),
    change: { preset: 'custom', ...periodOfInterval(name.slice(0, length)), by: '', within },
  })
  return [
    { label, change: { ...origin, by: '', within: '' } },
    ...(startsWithYears && name.length > 4 ? [levelAbove(4)] : []),
    ...(!startsWithDays && name.length > 7 ? [levelAbove(7)] : []),
  ]
}
