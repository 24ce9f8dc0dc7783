// Revenue and quotes over time: two drawings above each other that share their columns, and the table of the same.
import { columnAt, drawColumns } from './chart.js'
import { sum } from './decimal.js'
import { byId, element, fillIn, replace } from './elements.js'

/** @typedef {import('./figures.js').Stats} Stats */
/** @typedef {import('./page.js').Page} Page */
/** @typedef {{ name: string, isPartial: boolean, quotes: number, accepted: number, revenue: { amount: string, currency: string } }} Stretch */

/** From so many months on years are drawn, unless somebody wants months. */
const monthsAtMost = 36

/**
 * @param {{ page: Page, choose: (name: string) => void, addressOfStretch: (name: string) => string }} options `choose` is told the month or year pressed
 */
export function monthsPanel({ page, choose, addressOfStretch }) {
  const { words, formats } = page
  const drawings = byId('drawings', HTMLElement)
  const reading = byId('reading', HTMLElement)
  const place = byId('months-table', HTMLElement)
  const toggle = byId('months-toggle', HTMLButtonElement)
  const [revenuePlace, quotesPlace] = /** @type {SVGSVGElement[]} */ ([
    ...drawings.querySelectorAll('svg'),
  ])
  /** @type {Stretch[]} */
  let stretches = []
  let isTable = false
  /** On paper the drawing has the width of the paper, whatever the screen. */
  let paperWidth = 0

  function draw() {
    if (!revenuePlace || !quotesPlace) return
    const width = paperWidth || drawings.clientWidth
    if (width === 0) return
    const columns = stretches.map(({ name, isPartial }) => ({
      name,
      isPartial,
      label: formats.shortMonth(name),
      group: name.length === 4 ? '' : name.slice(0, 4),
    }))
    const axis = formats.compact
    drawColumns(revenuePlace, {
      columns: columns.map((column, index) => ({
        ...column,
        parts: [Number(stretches[index]?.revenue.amount)],
      })),
      parts: ['revenue'],
      height: 208,
      width,
      axis,
      isDense: true,
    })
    drawColumns(quotesPlace, {
      columns: columns.map((column, index) => {
        const { accepted = 0, quotes = 0 } = stretches[index] ?? {}
        return { ...column, parts: [accepted, quotes - accepted] }
      }),
      parts: ['accepted', 'others'],
      height: 132,
      width,
      axis,
      isDense: false,
    })
    const currency = stretches[0]?.revenue.currency ?? ''
    revenuePlace.setAttribute('aria-label', describe(words.revenueDrawing, currency))
    quotesPlace.setAttribute('aria-label', describe(words.quotesDrawing, currency))
  }

  /**
   * @param {string} text
   * @param {string} currency
   */
  function describe(text, currency) {
    const first = stretches[0]
    const last = stretches.at(-1)
    if (!first || !last) return text
    return fillIn(text, { from: formats.month(first.name), to: formats.month(last.name), currency })
  }

  function table() {
    const rows = stretches.map(({ name, isPartial, quotes, accepted, revenue }) => {
      const text = formats.month(name)
      // Links only where they can be seen: nobody should come upon an invisible one with the keyboard.
      const label = isTable
        ? element('a', { href: addressOfStretch(name), 'data-key': name }, text)
        : text
      return element(
        'tr',
        { 'data-name': name },
        element(
          'th',
          { scope: 'row' },
          label,
          isPartial && element('small', {}, ` ${words.partial}`),
        ),
        element('td', {}, formats.count(quotes)),
        element('td', {}, formats.count(accepted)),
        element('td', {}, formats.amount(revenue)),
      )
    })
    const isYears = stretches[0]?.name.length === 4
    return element(
      'table',
      {},
      element('caption', { class: 'hidden' }, isYears ? words.byYear : words.byMonth),
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          ...[
            isYears ? words.year : words.month,
            words.quotes,
            words.accepted,
            revenueHeading(stretches[0]?.revenue.currency ?? ''),
          ].map((text) => element('th', { scope: 'col' }, text)),
        ),
      ),
      element('tbody', {}, ...rows),
    )
  }

  /** @param {string} currency */
  const revenueHeading = (currency) => fillIn(words.revenueIn, { currency })

  function show() {
    toggle.setAttribute('aria-pressed', String(isTable))
    drawings.hidden = isTable
    place.classList.toggle('hidden', !isTable)
    replace(place, table())
    if (!isTable) draw()
    read(null)
  }

  /** @param {Stretch | null} stretch */
  function read(stretch) {
    for (const column of drawings.querySelectorAll('.column')) {
      column.classList.toggle(
        'pointed',
        stretch !== null && column.getAttribute('data-name') === stretch.name,
      )
    }
    const hasPartial = stretches.some(({ isPartial }) => isPartial)
    reading.replaceChildren(
      ...(stretch === null
        ? hasPartial
          ? [element('span', { class: 'key partial' }), words.partialMeans]
          : []
        : [
            element('strong', {}, formats.month(stretch.name)),
            ` ${formats.money(stretch.revenue)} · `,
            fillIn(words.stretchQuotes, {
              quotes: formats.count(stretch.quotes),
              accepted: formats.count(stretch.accepted),
            }),
            stretch.isPartial ? ` · ${words.partial}` : '',
          ]),
    )
  }

  /** @param {PointerEvent | MouseEvent} event */
  function stretchAt(event) {
    if (!revenuePlace) return null
    return stretches[columnAt(revenuePlace, stretches.length, event.clientX)] ?? null
  }
  drawings.addEventListener('pointermove', (event) => read(stretchAt(event)))
  drawings.addEventListener('pointerdown', (event) => read(stretchAt(event)))
  drawings.addEventListener('pointerleave', () => read(null))
  drawings.addEventListener('click', (event) => {
    const stretch = stretchAt(event)
    // A finger first reads; only a mouse has already read by pointing.
    if (stretch && /** @type {PointerEvent} */ (event).pointerType === 'mouse') choose(stretch.name)
  })
  toggle.addEventListener('click', () => {
    isTable = !isTable
    show()
  })
  new ResizeObserver(draw).observe(drawings)
  addEventListener('beforeprint', () => {
    paperWidth = 680
    drawings.hidden = false
    draw()
  })
  addEventListener('afterprint', () => {
    paperWidth = 0
    show()
  })

  return {
    /**
     * @param {Stats} stats
     * @param {string} by month, year or '' for whichever reads better
     */
    show(stats, by) {
      const isYears = yearsAreDrawn(stats, by)
      const months = stats.byMonth.map(({ month, partial, ...rest }) => ({
        ...rest,
        name: month,
        isPartial: partial,
      }))
      stretches = isYears ? yearsOf(months, stats.period) : months
      show()
    },
  }
}

/**
 * @param {Stats} stats
 * @param {string} by
 */
export function yearsAreDrawn({ byMonth }, by) {
  return by === 'year' || (by !== 'month' && byMonth.length > monthsAtMost)
}

/**
 * The months of each year summed: exactly, as the service sums.
 * @param {Stretch[]} months
 * @param {{ from: string, to: string }} period
 * @returns {Stretch[]}
 */
export function yearsOf(months, { from, to }) {
  const years = Map.groupBy(months, ({ name }) => name.slice(0, 4))
  return [...years].map(([name, all]) => ({
    name,
    isPartial:
      all.some(({ isPartial }) => isPartial) || `${name}-01-01` < from || `${name}-12-31` > to,
    quotes: all.reduce((total, { quotes }) => total + quotes, 0),
    accepted: all.reduce((total, { accepted }) => total + accepted, 0),
    revenue: {
      amount: sum(all.map(({ revenue }) => revenue.amount)),
      currency: all[0]?.revenue.currency ?? '',
    },
  }))
}
