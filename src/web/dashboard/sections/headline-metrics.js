// Shows the metrics at the top: revenue, quotes, acceptance and average, each with its previous
// value.
import { createElement, formatText, replaceChildren } from '../../browser/elements.js'
import { subtract } from '../data/decimal-arithmetic.js'

/** @import { Stats } from '../data/stats-polling.js' */
/** @import { PageData } from '../page-data.js' */
/**
 * @typedef {object} Metric
 * @property {string} name
 * @property {string} label
 * @property {string} value
 * @property {string | null} [note]
 * @property {string | null} [change] formatted
 * @property {string | null} previousValue null without a comparison
 */

/**
 * Replaces the content of the list.
 * @param {Element} list
 * @param {Stats} stats
 * @param {PageData} page
 */
export function showHeadlineMetrics(list, stats, page) {
  const metrics = [
    revenueMetric(stats, page),
    ...countMetrics(stats, page),
    ...acceptanceMetrics(stats, page),
    averageMetric(stats, page),
  ]
  replaceChildren(list, ...metrics.map((metric) => createMetric(metric, page)))
}

/**
 * @param {Stats} stats
 * @param {PageData} page
 * @returns {Metric}
 */
function revenueMetric({ revenue, comparison }, { texts, formats }) {
  const unconverted = revenue.unconverted.reduce((total, { quotes }) => total + quotes, 0)
  const unconvertedText = unconverted === 1 ? texts.oneWithoutRate : texts.withoutRate
  return {
    name: 'revenue',
    label: texts.revenue,
    value: formats.money(revenue.total),
    note:
      unconverted === 0
        ? texts.netOfAccepted
        : formatText(unconvertedText, { count: formats.count(unconverted) }),
    change: formatChange(comparison?.change.revenue, formats),
    previousValue: comparison && formats.money(comparison.revenue.total),
  }
}

/**
 * @param {Stats} stats
 * @param {PageData} page
 * @returns {Metric[]}
 */
function countMetrics({ quotes, comparison }, { texts, formats }) {
  return [
    {
      name: 'quotes',
      label: texts.quotes,
      value: formats.count(quotes.total),
      change: formatChange(comparison?.change.quotes, formats),
      previousValue: comparison && formats.count(comparison.quotes.total),
    },
    {
      name: 'accepted',
      label: texts.accepted,
      value: formats.count(quotes.byStatus.accepted),
      change: formatChange(comparison?.change.accepted, formats),
      previousValue: comparison && formats.count(comparison.quotes.byStatus.accepted),
    },
  ]
}

/**
 * @param {Stats} stats
 * @param {PageData} page
 * @returns {Metric[]}
 */
function acceptanceMetrics({ quotes, comparison }, page) {
  const { texts, formats } = page
  const { accepted, sent, rejected, expired } = quotes.byStatus
  const decidedQuotes = accepted + rejected + expired
  const { ofSent, ofDecided } = quotes.acceptance
  const previous = comparison?.quotes.acceptance
  /** @param {number} whole */
  const outOf = (whole) =>
    formatText(texts.outOf, { part: formats.count(accepted), whole: formats.count(whole) })
  return [
    {
      name: 'of-sent',
      label: texts.acceptanceOfSent,
      value: formats.percent(ofSent),
      note: outOf(sent + decidedQuotes),
      change: formatPointChange(ofSent, previous?.ofSent, page),
      previousValue: previous ? formats.percent(previous.ofSent) : null,
    },
    {
      name: 'of-decided',
      label: texts.acceptanceOfDecided,
      value: formats.percent(ofDecided),
      note: outOf(decidedQuotes),
      change: formatPointChange(ofDecided, previous?.ofDecided, page),
      previousValue: previous ? formats.percent(previous.ofDecided) : null,
    },
  ]
}

/**
 * @param {Stats} stats
 * @param {PageData} page
 * @returns {Metric}
 */
function averageMetric({ revenue, comparison }, { texts, formats }) {
  /** @param {Stats['revenue']['average']} average */
  const format = (average) => (average === null ? '–' : formats.money(average))
  return {
    name: 'average',
    label: texts.average,
    value: format(revenue.average),
    note: texts.perAccepted,
    previousValue: comparison && format(comparison.revenue.average),
  }
}

/**
 * @param {string | null | undefined} ratio
 * @param {PageData['formats']} formats
 */
function formatChange(ratio, formats) {
  return ratio ? formats.change(ratio) : null
}

/**
 * Returns the difference of two ratios in percentage points.
 * @param {string | null} ratio
 * @param {string | null | undefined} previousRatio
 * @param {PageData} page
 */
function formatPointChange(ratio, previousRatio, { texts, formats }) {
  if (ratio === null || !previousRatio) return null
  return formatText(texts.points, { points: formats.points(subtract(ratio, previousRatio)) })
}

/**
 * @param {Metric} metric
 * @param {PageData} page
 */
function createMetric({ name, label, value, note, change, previousValue }, { texts }) {
  return createElement(
    'div',
    { class: 'metric', 'data-metric': name },
    createElement('dt', {}, label),
    createElement('dd', { class: 'value' }, value),
    previousValue !== null &&
      createElement(
        'dd',
        { class: 'previous-value' },
        ...(change ? [createElement('span', { class: changeClass(change) }, change), ' '] : []),
        formatText(texts.previousValue, { value: previousValue }),
      ),
    note ? createElement('dd', { class: 'note' }, note) : null,
  )
}

/** @param {string} change */
function changeClass(change) {
  if (change.startsWith('+')) return 'change up'
  return /^[-−]/.test(change) ? 'change down' : 'change'
}
