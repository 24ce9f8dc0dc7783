// Creates the table by country, with a bar in each row. At first it hides all but the first countries.
import { createElement, formatText } from '../../browser/elements.js'
import { createBar } from './bar-table.js'
import { createGroupTable } from './group-table.js'
import { columnGroupsOf } from './table-columns.js'

/** @import { Child } from '../../browser/elements.js' */
/** @import { Stats } from '../data/stats-polling.js' */
/** @import { PageData } from '../page-data.js' */
/** @import { Row } from './group-table.js' */
/**
 * @typedef {object} CountriesOptions
 * @property {boolean} showsAll
 * @property {string} selectedCountry its code, '' for none
 * @property {(code: string) => string} addressOfCountry
 * @property {() => void} onShowAll
 */

/** How many countries the table shows before the visitor asks for all. */
export const maxCountriesAtFirst = 12

/**
 * Returns the table of countries, and a button that shows all if some are hidden.
 * @param {Stats} stats
 * @param {PageData} page
 * @param {CountriesOptions} options
 * @returns {Child[]}
 */
export function createCountriesTable({ byCountry, revenue: { total }, period }, page, options) {
  const { texts, formats } = page
  const maxRevenue = Math.max(
    0,
    ...byCountry.map(({ revenue }) => Math.abs(Number(revenue.amount))),
  )
  const rows = byCountry.map((row, index) =>
    createCountryRow(row, index, maxRevenue, page, options),
  )
  const showAllButton = createElement(
    'button',
    { type: 'button', class: 'quiet more-button', 'data-key': 'more' },
    formatText(texts.showAll, { count: formats.count(byCountry.length) }),
  )
  showAllButton.addEventListener('click', options.onShowAll)
  const table = createGroupTable(
    {
      caption: texts.byCountry,
      rowHeading: texts.country,
      columns: columnGroupsOf(period),
      currency: total.currency,
      rows,
    },
    page,
  )
  return [
    table,
    rows.length === 0 && createElement('p', { class: 'no-rows' }, texts.noRows),
    !options.showsAll && byCountry.length > maxCountriesAtFirst && showAllButton,
  ]
}

/**
 * @param {Stats['byCountry'][number]} group
 * @param {number} index
 * @param {number} maxRevenue
 * @param {PageData} page
 * @param {CountriesOptions} options
 * @returns {Row}
 */
function createCountryRow(group, index, maxRevenue, { texts, formats }, options) {
  const { country, revenue } = group
  const code = country ?? 'unknown'
  const isSelected = options.selectedCountry === code
  const link = createElement(
    'a',
    {
      href: options.addressOfCountry(isSelected ? '' : code),
      'data-key': code,
      'aria-current': isSelected && 'true',
    },
    country === null ? texts.unknownCountry : formats.country(country),
  )
  const bar = createBar(Number(revenue.amount), maxRevenue, 'revenue')
  const isHidden = !options.showsAll && index >= maxCountriesAtFirst
  const attributes = { 'data-name': code, class: isHidden ? 'more' : null }
  return { group, label: [link, bar], attributes }
}
