// Creates the tables by country, status and currency, with a bar in each row.
import { createElement, formatText } from '../../browser/elements.js'
import { columnGroupsOf, createGroupTable } from './group-table.js'

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
 * Returns the table of statuses.
 * @param {Stats} stats
 * @param {PageData} page
 * @returns {Child[]}
 */
export function createStatusesTable({ quotes }, { texts, formats }) {
  const { draft, sent, accepted, rejected, expired } = quotes.byStatus
  const counts = { accepted, sent, rejected, expired, draft }
  const maxCount = Math.max(...Object.values(counts))
  const rows = Object.entries(counts).map(([status, count]) => {
    const name = texts.status[/** @type {keyof typeof texts.status} */ (status)]
    const share = quotes.total === 0 ? null : String(count / quotes.total)
    return createElement(
      'tr',
      { 'data-name': status },
      createElement('th', { scope: 'row' }, name, createBar(count, maxCount, status)),
      createElement('td', {}, formats.count(count)),
      createElement('td', {}, formats.percent(share)),
    )
  })
  return [createTable(texts.byStatus, [texts.statusHeading, texts.quotes, texts.share], rows)]
}

/**
 * Returns the table of currencies. A second row of a currency shows its unconverted amount.
 * @param {Stats} stats
 * @param {PageData} page
 * @returns {Child[]}
 */
export function createCurrenciesTable({ revenue, quotes }, { texts, formats }) {
  const unconverted = new Map(revenue.unconverted.map((money) => [money.currency, money]))
  const rows = revenue.byCurrency.flatMap((money) => {
    const { currency } = money
    const code = createElement('span', { class: 'code' }, currency)
    const bar = createBar(money.quotes, quotes.byStatus.accepted, 'revenue')
    const row = createElement(
      'tr',
      { 'data-name': currency },
      createElement('th', { scope: 'row' }, code, bar),
      createElement('td', {}, formats.count(money.quotes)),
      createElement('td', {}, formats.money(money)),
    )
    const part = unconverted.get(currency)
    if (!part) return [row]
    const partRow = createElement(
      'tr',
      { class: 'part', 'data-name': `${currency} unconverted` },
      createElement('th', { scope: 'row' }, texts.ofWhichUnconverted),
      createElement('td', {}, formats.count(part.quotes)),
      createElement('td', {}, formats.money(part)),
    )
    return [row, partRow]
  })
  const note = formatText(texts.currenciesNote, { currency: revenue.total.currency })
  return [
    createTable(texts.byCurrency, [texts.currency, texts.accepted, texts.amount], rows),
    rows.length === 0 && createElement('p', { class: 'no-rows' }, texts.noRows),
    createElement('p', { class: 'note' }, note),
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

/**
 * @param {string} caption
 * @param {string[]} headings
 * @param {Child[]} rows
 */
function createTable(caption, headings, rows) {
  const headingCells = headings.map((text) => createElement('th', { scope: 'col' }, text))
  return createElement(
    'table',
    {},
    createElement('caption', { class: 'hidden' }, caption),
    createElement('thead', {}, createElement('tr', {}, ...headingCells)),
    createElement('tbody', {}, ...rows),
  )
}

/**
 * Creates a bar whose length is the value's share of the maximum. Hidden from screen readers: the
 * row contains the number.
 * @param {number} value
 * @param {number} max
 * @param {string} name
 */
function createBar(value, max, name) {
  const bar = createElement('span', { class: `meter ${name}`, 'aria-hidden': 'true' })
  bar.style.inlineSize = `${max > 0 ? Math.max(0, (value / max) * 100) : 0}%`
  return bar
}
