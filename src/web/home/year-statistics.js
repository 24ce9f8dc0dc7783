// Shows the statistics of a year: metrics, a column chart of the revenue, and the chart as a table.
import { drawColumnChart } from '../browser/column-chart.js'
import { createElement, elementById, formatText } from '../browser/elements.js'
import { showResponseSample } from './response-sample.js'

/** @import { Stats } from '../../stats/schema.ts' */
/** @import { Formats } from '../browser/number-and-date-formats.js' */
/** @import { HomeTexts } from './home-texts-es.ts' */
/** @typedef {{ texts: HomeTexts, formats: Formats }} PageFormats */

const chartHeight = 150

/**
 * Fills the section of the statistics with those of a year.
 * @param {string} year
 * @param {Stats} stats
 * @param {PageFormats} page
 */
export function showYear(year, stats, page) {
  showMetrics(year, stats, page)
  showChart(year, stats, page)
  elementById('stats-table', HTMLElement).replaceChildren(createTable(year, stats, page))
  const { period, quotes, revenue } = stats
  showResponseSample('stats-response', {
    period: { from: period.from, to: period.to },
    quotes: { total: quotes.total, acceptance: quotes.acceptance },
    revenue: { total: revenue.total, average: revenue.average },
  })
}

/** Returns an entry of a definition list. @param {string} label @param {string} value */
export function createMetric(label, value) {
  return createElement('div', {}, createElement('dt', {}, label), createElement('dd', {}, value))
}

/** @param {string} year @param {Stats} stats @param {PageFormats} page */
function showMetrics(year, { quotes, revenue }, { texts, formats }) {
  const { currency } = revenue.total
  const list = elementById('stats-metrics', HTMLElement)
  list.hidden = false
  list.replaceChildren(
    createMetric(
      formatText(texts.stats.revenueIn, { year, currency }),
      formats.amount(revenue.total),
    ),
    createMetric(texts.stats.quotes, formats.count(quotes.total)),
    createMetric(texts.stats.acceptance, formats.percent(quotes.acceptance.ofDecided)),
  )
}

/** @param {string} year @param {Stats} stats @param {PageFormats} page */
function showChart(year, { byMonth, revenue: { total } }, { texts, formats }) {
  const { currency } = total
  const chart = elementById('stats-chart', SVGSVGElement)
  chart.setAttribute('aria-label', formatText(texts.stats.chartLabel, { year, currency }))
  const columns = byMonth.map(({ month, partial, revenue }) => ({
    name: month,
    label: formats.shortMonth(month),
    group: '',
    isPartial: partial,
    parts: [Number(revenue.amount)],
  }))
  const container = elementById('stats', HTMLElement)
  const draw = () =>
    drawColumnChart(chart, {
      columns,
      parts: ['revenue'],
      height: chartHeight,
      width: container.clientWidth,
      formatAxis: formats.compact,
      hasLabels: true,
    })
  new ResizeObserver(draw).observe(container)
}

/** @param {string} year @param {Stats} stats @param {PageFormats} page */
function createTable(year, { byMonth, revenue: { total } }, { texts, formats }) {
  const { currency } = total
  const rows = byMonth.map(({ month, revenue }) =>
    createElement(
      'tr',
      {},
      createElement('th', { scope: 'row' }, formats.month(month)),
      createElement('td', {}, formats.money(revenue)),
    ),
  )
  const headings = [texts.stats.month, texts.stats.revenue].map((text) =>
    createElement('th', { scope: 'col' }, text),
  )
  return createElement(
    'table',
    {},
    createElement('caption', {}, formatText(texts.stats.revenueIn, { year, currency })),
    createElement('thead', {}, createElement('tr', {}, ...headings)),
    createElement('tbody', {}, ...rows),
  )
}
