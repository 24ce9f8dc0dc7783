// Creates the table of the four acceptance rates: by number of quotes and by value, of the decided
// quotes and of the sent ones.
import { createElement, formatText } from '../../browser/elements.js'
import { subtract } from '../data/decimal-arithmetic.js'
import { createChange } from './change.js'

/** @import { Stats } from '../data/stats-polling.js' */
/** @import { PageData } from '../page-data.js' */
/** @typedef {keyof Stats['quotes']['acceptance']} RateName */

/**
 * With a comparison, each rate shows its change in percentage points. Without one, the rates by
 * number show the numbers of quotes.
 * @param {Pick<Stats, 'quotes' | 'comparison'>} stats
 * @param {PageData} page
 */
export function createAcceptanceTable({ quotes, comparison }, page) {
  const { texts, formats } = page
  const { accepted, sent, rejected, expired } = quotes.byStatus
  const decided = accepted + rejected + expired
  /** @param {number} whole */
  const outOf = (whole) =>
    formatText(texts.outOf, { part: formats.count(accepted), whole: formats.count(whole) })
  const previous = comparison?.quotes.acceptance
  /** @param {RateName} name @param {string} metric @param {string} [note] */
  const cell = (name, metric, note) => {
    const rate = quotes.acceptance[name]
    const change = previous ? pointChange(rate, previous[name], page) : note
    return createElement(
      'td',
      { 'data-metric': metric },
      createElement('span', { class: 'value' }, formats.percent(rate)),
      change ? createElement('span', { class: 'note' }, change) : null,
    )
  }
  const headings = [texts.ofDecided, texts.ofSent].map((text) =>
    createElement('th', { scope: 'col' }, text),
  )
  /** @param {string} text @param {HTMLElement[]} cells */
  const row = (text, ...cells) =>
    createElement('tr', {}, createElement('th', { scope: 'row' }, text), ...cells)
  return createElement(
    'table',
    { class: 'rates' },
    createElement('thead', {}, createElement('tr', {}, createElement('td'), ...headings)),
    createElement(
      'tbody',
      {},
      row(
        texts.byNumber,
        cell('ofDecided', 'of-decided', outOf(decided)),
        cell('ofSent', 'of-sent', outOf(sent + decided)),
      ),
      row(
        texts.byValue,
        cell('ofDecidedValue', 'of-decided-value'),
        cell('ofSentValue', 'of-sent-value'),
      ),
    ),
  )
}

/**
 * Returns the difference of two rates in percentage points; null if there is none.
 * @param {string | null} rate
 * @param {string | null} previousRate
 * @param {PageData} page
 */
function pointChange(rate, previousRate, { texts, formats }) {
  if (rate === null || previousRate === null) return null
  const points = formats.points(subtract(rate, previousRate))
  return createChange(formatText(texts.points, { points }))
}
