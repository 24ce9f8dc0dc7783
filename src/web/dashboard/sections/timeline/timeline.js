// Shows revenue and quotes by day, month or year: two charts with the same columns, and a table.
import { columnIndexAt, drawColumnChart } from '../../../browser/column-chart.js'
import {
  createElement,
  elementById,
  formatText,
  replaceChildren,
} from '../../../browser/elements.js'
import { groupByYear } from '../../data/sums-by-year.js'
import { ColumnChoice } from '../column-choice.js'
import { createGroupTable } from '../group-table.js'
import { columnGroupsOf } from '../table-columns.js'
import { formatInterval, groupOfInterval, shortenInterval } from './interval-names.js'
import { chooseInterval } from './timeline-intervals.js'

/** @import { Stats } from '../../data/stats-polling.js' */
/** @import { Interval } from '../../data/sums-by-year.js' */
/** @import { PageData } from '../../page-data.js' */
/** @import { Row } from '../group-table.js' */
/** @import { ColumnGroup } from '../table-columns.js' */
/** @import { IntervalKind } from './timeline-intervals.js' */
/**
 * @typedef {object} TimelineOptions
 * @property {PageData} page
 * @property {(name: string) => void} onSelect A day, month or year was clicked.
 * @property {(name: string) => string} addressOfInterval
 */

/** The width of charts on paper, in CSS pixels. It does not depend on the window. */
const printWidth = 680
const revenueChartHeight = 208
const quotesChartHeight = 132

export class Timeline {
  #page
  #addressOfInterval
  #charts = elementById('charts', HTMLElement)
  #revenueChart = elementById('revenue-chart', SVGSVGElement)
  #quotesChart = elementById('quotes-chart', SVGSVGElement)
  #details = elementById('timeline-details', HTMLElement)
  #table = elementById('timeline-table', HTMLElement)
  #tableButton = elementById('timeline-table-button', HTMLButtonElement)
  #columnChoice
  /** @type {ColumnGroup[]} */
  #columns = []
  /** @type {Interval[]} */
  #intervals = []
  /** @type {IntervalKind} */
  #kind = 'month'
  #showsTable = false
  /** The interval whose details are shown. @type {string | null} */
  #pointedName = null
  #isPrinting = false

  /** @param {TimelineOptions} options */
  constructor({ page, onSelect, addressOfInterval }) {
    this.#page = page
    this.#addressOfInterval = addressOfInterval
    this.#columnChoice = new ColumnChoice(elementById('timeline-columns', HTMLElement), page)
    this.#listenToPointer(onSelect)
    this.#tableButton.addEventListener('click', () => {
      this.#showsTable = !this.#showsTable
      this.#pointedName = null
      this.#render()
    })
    new ResizeObserver(() => this.#draw()).observe(this.#charts)
    addEventListener('beforeprint', () => {
      this.#isPrinting = true
      this.#charts.hidden = false
      this.#draw()
    })
    addEventListener('afterprint', () => {
      this.#isPrinting = false
      this.#render()
    })
  }

  /**
   * @param {Stats} stats
   * @param {string} by `day`, `month` or `year`; '' chooses by the length of the period
   */
  show(stats, by) {
    this.#kind = chooseInterval(stats, by)
    this.#intervals = intervalsOf(stats, this.#kind)
    this.#columns = columnGroupsOf(stats.period, { isByYear: this.#kind === 'year' })
    this.#columnChoice.show(this.#columns)
    this.#render()
  }

  /** @param {(name: string) => void} onSelect */
  #listenToPointer(onSelect) {
    const charts = this.#charts
    charts.addEventListener('pointermove', (event) => this.#showDetails(this.#intervalAt(event)))
    charts.addEventListener('pointerdown', (event) => this.#showDetails(this.#intervalAt(event)))
    charts.addEventListener('pointerleave', ({ pointerType }) => {
      // A finger that is lifted leaves the details, so that their link can be tapped.
      if (pointerType !== 'touch') this.#showDetails(null)
    })
    charts.addEventListener('click', (event) => {
      const interval = this.#intervalAt(event)
      // A tap only shows the details and their link. With a mouse, hovering has shown them.
      const isMouse = event instanceof PointerEvent && event.pointerType === 'mouse'
      if (interval && isMouse) onSelect(interval.name)
    })
  }

  #render() {
    this.#tableButton.setAttribute('aria-pressed', String(this.#showsTable))
    this.#charts.hidden = this.#showsTable
    this.#table.classList.toggle('hidden', !this.#showsTable)
    elementById('timeline-columns', HTMLElement).hidden = !this.#showsTable
    replaceChildren(this.#table, this.#createTable())
    if (!this.#showsTable) this.#draw()
    this.#showDetails(this.#intervals.find(({ name }) => name === this.#pointedName) ?? null)
  }

  #draw() {
    const width = this.#isPrinting ? printWidth : this.#charts.clientWidth
    if (width === 0) return
    const { texts, formats } = this.#page
    /** @param {(interval: Interval) => number[]} partsOf */
    const columns = (partsOf) =>
      this.#intervals.map((interval) => ({
        name: interval.name,
        isPartial: interval.isPartial,
        label: shortenInterval(interval.name, formats),
        group: groupOfInterval(interval.name, formats),
        parts: partsOf(interval),
      }))
    const formatAxis = formats.compact
    drawColumnChart(this.#revenueChart, {
      columns: columns(({ revenue }) => [Number(revenue.amount)]),
      parts: ['revenue'],
      height: revenueChartHeight,
      width,
      formatAxis,
      hasLabels: false,
    })
    drawColumnChart(this.#quotesChart, {
      columns: columns(({ accepted, quotes }) => [accepted, quotes - accepted]),
      parts: ['accepted', 'others'],
      isWhole: true,
      height: quotesChartHeight,
      width,
      formatAxis,
      hasLabels: true,
    })
    this.#labelChart(this.#revenueChart, texts.revenueChartLabel)
    this.#labelChart(this.#quotesChart, texts.quotesChartLabel)
  }

  /** @param {SVGSVGElement} chart @param {string} text */
  #labelChart(chart, text) {
    const { formats } = this.#page
    const first = this.#intervals[0]
    const last = this.#intervals.at(-1)
    const label =
      first && last
        ? formatText(text, {
            from: formatInterval(first.name, formats),
            to: formatInterval(last.name, formats),
            currency: first.revenue.currency,
          })
        : text
    chart.setAttribute('aria-label', label)
  }

  #createTable() {
    const { texts } = this.#page
    const first = this.#intervals[0]
    const captions = { day: texts.byDay, month: texts.byMonth, year: texts.byYear }
    return createGroupTable(
      {
        caption: captions[this.#kind],
        rowHeading: texts[this.#kind],
        columns: this.#columns,
        currency: first?.revenue.currency ?? '',
        rows: this.#intervals.map((interval) => this.#createTableRow(interval)),
      },
      this.#page,
    )
  }

  /** @param {Interval} interval @returns {Row} */
  #createTableRow(interval) {
    const { name, isPartial } = interval
    const { texts, formats } = this.#page
    const text = formatInterval(name, formats)
    // A hidden table has no links, because the keyboard must not reach invisible elements.
    const label = this.#showsTable
      ? createElement('a', { href: this.#addressOfInterval(name), 'data-key': name }, text)
      : text
    const partial = isPartial && createElement('small', {}, ` ${texts.partial}`)
    return { group: interval, label: [label, partial], attributes: { 'data-name': name } }
  }

  /** Highlights an interval and shows its amounts; null shows the legend of partial columns. */
  #showDetails(/** @type {Interval | null} */ interval) {
    this.#pointedName = interval?.name ?? null
    for (const column of this.#charts.querySelectorAll('.column')) {
      const isPointed = interval !== null && column.getAttribute('data-name') === interval.name
      column.classList.toggle('pointed', isPointed)
    }
    replaceChildren(this.#details, ...(interval ? this.#describe(interval) : this.#legend()))
  }

  /** @param {Interval} interval */
  #describe({ name, isPartial, quotes, accepted, revenue }) {
    const { texts, formats } = this.#page
    const link = createElement(
      'a',
      { href: this.#addressOfInterval(name), 'data-key': name },
      formatInterval(name, formats),
    )
    return [
      createElement('strong', {}, link),
      ` ${formats.money(revenue)} · `,
      formatText(texts.quotesInPeriod, {
        quotes: formats.count(quotes),
        accepted: formats.count(accepted),
      }),
      isPartial ? ` · ${texts.partial}` : '',
    ]
  }

  #legend() {
    const hasPartial = this.#intervals.some(({ isPartial }) => isPartial)
    if (!hasPartial) return []
    return [createElement('span', { class: 'key partial' }), this.#page.texts.partialLegend]
  }

  /** @param {MouseEvent} event */
  #intervalAt({ clientX }) {
    const index = columnIndexAt(this.#revenueChart, this.#intervals.length, clientX)
    return this.#intervals[index] ?? null
  }
}

/** @param {Stats} stats @param {IntervalKind} kind @returns {Interval[]} */
function intervalsOf({ byDay = [], byMonth, period }, kind) {
  if (kind === 'day')
    return byDay.map(({ day, partial, ...figures }) => ({
      ...figures,
      name: day,
      isPartial: partial,
    }))
  const months = byMonth.map(({ month, partial, ...figures }) => ({
    ...figures,
    name: month,
    isPartial: partial,
  }))
  return kind === 'year' ? groupByYear(months, period) : months
}
