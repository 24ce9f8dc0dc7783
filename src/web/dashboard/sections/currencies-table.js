// Creates the table by currency, with a bar in each row.
import { createElement, formatText } from '../../browser/elements.js'
import { createBar, createTable } from './bar-table.js'

/** @import { Child } from '../../browser/elements.js' */
/** @import { Stats } from '../data/stats-polling.js' */
/** @import { PageData } from '../page-data.js' */

/**
 * Returns the table of currencies. A second row of a currency shows its unconverted amount. If there
 * are several, each is a link that selects it.
 * @param {Stats} stats
 * @param {PageData} page
 * @param {{ selectedCurrency: string, addressOfCurrency: (code: string) => string }} options
 * @returns {Child[]}
 */
export function createCurrenciesTable({ revenue, quotes }, { texts, formats }, options) {
  const { selectedCurrency, addressOfCurrency } = options
  const unconverted = new Map(revenue.unconverted.map((money) => [money.currency, money]))
  const rows = revenue.byCurrency.flatMap((money) => {
    const { currency } = money
    const isSelected = currency === selectedCurrency
    const code =
      isSelected || revenue.byCurrency.length > 1
        ? createElement(
            'a',
            {
              class: 'code',
              href: addressOfCurrency(isSelected ? '' : currency),
              'data-key': currency,
              'aria-current': isSelected && 'true',
            },
            currency,
          )
        : createElement('span', { class: 'code' }, currency)
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
    unconverted.size > 0 && createElement('p', { class: 'note' }, note),
  ]
}
