// Creates the table by status, with a bar in each row.
import { createElement } from '../../browser/elements.js'
import { createBar, createTable } from './bar-table.js'

/** @import { Child } from '../../browser/elements.js' */
/** @import { Stats } from '../data/stats-polling.js' */
/** @import { PageData } from '../page-data.js' */

/** Returns the table of statuses. @param {Stats} stats @param {PageData} page @returns {Child[]} */
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
