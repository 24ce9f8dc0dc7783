// Loads and shows the customers and products with the highest revenue, if the visitor's key has the
// scope stats:detail.
import {
  createElement,
  elementById,
  formatText,
  replaceChildren,
} from '../../../browser/elements.js'
import { fetchWithTimeout } from '../../../browser/fetch-with-timeout.js'
import { breakdownIntervalMs } from '../../dashboard-intervals.js'
import { authorizationHeader, readSessionKey } from '../../data/session-key.js'
import { createBar, createTable } from '../bar-table.js'
import { createKeyRequest } from './key-request.js'

/** @import { Attributes, Child } from '../../../browser/elements.js' */
/** @import { Stats } from '../../data/stats-polling.js' */
/** @import { PageData } from '../../page-data.js' */
/** @typedef {{ query: string, stats: Stats }} Shown the statistics that the page shows */
/** @typedef {NonNullable<Stats['byCustomer']>} Customers */
/** @typedef {NonNullable<Stats['byProduct']>} Products */
/**
 * @typedef {object} Row
 * @property {Child[]} label
 * @property {number[]} counts
 * @property {{ amount: string, currency: string }} revenue
 * @property {string | null} note
 */
/**
 * @typedef {object} List
 * @property {string} title
 * @property {string[]} headings
 * @property {Row[]} rows
 * @property {Row | null} rest
 */

/** How many rows each table shows before the visitor asks for all. */
const maxRowsAtFirst = 10

export class BreakdownSection {
  #page
  #onKeyRequested
  #details = elementById('breakdown', HTMLDetailsElement)
  #message = elementById('breakdown-message', HTMLElement)
  #tables = elementById('breakdown-tables', HTMLElement)
  /** @type {Shown | null} */
  #shown = null
  /**
   * What was requested last. `stats` is null after a failure, so that the request is repeated.
   * @type {{ query: string, stats: Stats | null, key: string, at: number } | null}
   */
  #loaded = null
  /** @type {Set<string>} the titles of the tables that show all rows */
  #expanded = new Set()

  /** @param {{ page: PageData, onKeyRequested: () => void }} options */
  constructor({ page, onKeyRequested }) {
    this.#page = page
    this.#onKeyRequested = onKeyRequested
    this.#details.addEventListener('toggle', () => this.refresh(this.#shown))
  }

  /**
   * Loads customers and products if the section is open, and the key, the filters or the data are
   * not those of the last time. Nothing is requested without a key, because no one else may see
   * names of customers.
   * @param {Shown | null} shown
   */
  async refresh(shown) {
    const key = readSessionKey()
    if (this.#loaded && this.#loaded.key !== key) this.clear()
    this.#shown = shown
    if (!this.#details.open || !shown) return
    const { query, stats } = shown
    if (key === null) return this.#requestKey()
    const last = this.#loaded
    const isSame = last?.key === key && last.query === query
    const isRecent = last !== null && performance.now() - last.at < breakdownIntervalMs
    if (isSame && (last.stats === stats || isRecent)) return
    const loading = { query, stats, key, at: performance.now() }
    this.#loaded = loading
    if (!isSame) this.#details.setAttribute('aria-busy', 'true')
    const [customers, products] = await Promise.all([
      this.#load(query, 'customer'),
      this.#load(query, 'product'),
    ])
    // The filters or the key have changed meanwhile.
    if (this.#loaded !== loading) return
    this.#details.removeAttribute('aria-busy')
    const { byCustomer } = customers.stats ?? {}
    const { byProduct } = products.stats ?? {}
    if (byCustomer && byProduct) this.#show(byCustomer, byProduct)
    else this.#showError(Math.max(customers.status, products.status))
  }

  /**
   * @param {string} query
   * @param {'customer' | 'product'} by
   * @returns {Promise<{ stats?: Stats, status: number }>} status 0 after a network error
   */
  async #load(query, by) {
    const parameters = new URLSearchParams(query)
    // The comparison does not change customers and products.
    parameters.delete('compare')
    parameters.set('by', by)
    try {
      const response = await fetchWithTimeout(`api/stats?${parameters}`, {
        headers: { accept: 'application/json', ...authorizationHeader() },
        cache: 'no-store',
        credentials: 'same-origin',
      })
      const { ok, status } = response
      return ok ? { stats: await response.json(), status } : { status }
    } catch {
      // The visitor sees that they are unavailable.
      return { status: 0 }
    }
  }

  /** @param {number} status */
  #showError(status) {
    const { errors } = this.#page.texts
    if (status === 401 || status === 403) return this.#requestKey()
    if (this.#loaded) this.#loaded = { ...this.#loaded, stats: null }
    const text = status === 429 ? errors.limited : errors.unavailable
    // Setting the same text again would make screen readers repeat it.
    if (this.#message.textContent !== text) this.#message.textContent = text
    replaceChildren(this.#tables)
  }

  /** Removes what is shown, and drops the response that may still arrive. */
  clear() {
    this.#shown = null
    this.#loaded = null
    this.#message.textContent = ''
    this.#details.removeAttribute('aria-busy')
    replaceChildren(this.#tables)
  }

  #requestKey() {
    // Setting the same text again would make screen readers repeat it.
    if (this.#message.querySelector('button') === null)
      replaceChildren(this.#message, ...createKeyRequest(this.#page, this.#onKeyRequested))
    replaceChildren(this.#tables)
  }

  /** @param {Customers} customers @param {Products} products */
  #show(customers, products) {
    this.#message.textContent = ''
    const lists = [customerList(customers, this.#page), productList(products, this.#page)]
    const parts = lists.map((list) => {
      const onShowAll = () => {
        this.#expanded.add(list.title)
        this.#show(customers, products)
        // The button has disappeared.
        const row = this.#tables.querySelector(`[data-key="${firstHiddenKey(list.title)}"]`)
        if (row instanceof HTMLElement) row.focus()
      }
      return createList(list, this.#page, { isExpanded: this.#expanded.has(list.title), onShowAll })
    })
    replaceChildren(this.#tables, ...parts)
  }
}

/** @param {Customers} customers @param {PageData} page @returns {List} */
function customerList({ rows, rest }, { texts, formats }) {
  const { breakdown } = texts
  /** @param {number} count */
  const noteOf = (count) =>
    count === 0 ? null : fillCount(count, formats.choosePlural(count, texts.withoutRate), formats)
  return {
    title: breakdown.customers,
    headings: [breakdown.customer, texts.quotes, texts.accepted],
    rows: rows.map(({ customer, quotes, accepted, revenue, unconverted }) => ({
      label: [
        customer === null
          ? breakdown.noCustomer
          : createElement('bdi', {}, customer.name ?? `#${customer.id}`),
      ],
      counts: [quotes, accepted],
      revenue,
      note: noteOf(unconverted),
    })),
    rest: rest && {
      label: [
        fillCount(
          rest.customers,
          formats.choosePlural(rest.customers, breakdown.otherCustomers),
          formats,
        ),
      ],
      counts: [rest.quotes, rest.accepted],
      revenue: rest.revenue,
      note: noteOf(rest.unconverted),
    },
  }
}

/** @param {Products} products @param {PageData} page @returns {List} */
function productList({ rows, rest }, { texts, formats }) {
  const { breakdown } = texts
  /** @param {number} count */
  const noteOf = (count) =>
    count === 0
      ? null
      : fillCount(count, formats.choosePlural(count, breakdown.linesWithoutRate), formats)
  return {
    title: breakdown.products,
    headings: [breakdown.product, breakdown.lines],
    rows: rows.map(({ product, lines, revenue, unconverted }) => ({
      label: product === null ? [breakdown.noSku] : createProductLabel(product),
      counts: [lines],
      revenue,
      note: noteOf(unconverted),
    })),
    rest: rest && {
      label: [
        fillCount(
          rest.products,
          formats.choosePlural(rest.products, breakdown.otherProducts),
          formats,
        ),
      ],
      counts: [rest.lines],
      revenue: rest.revenue,
      note: noteOf(rest.unconverted),
    },
  }
}

/** @param {{ sku: string, name: string | null }} product @returns {Child[]} */
function createProductLabel({ sku, name }) {
  if (name === null) return [createElement('bdi', {}, sku)]
  return [createElement('bdi', {}, name), ' ', createElement('bdi', { class: 'note' }, sku)]
}

/** @param {number} count @param {string} text @param {PageData['formats']} formats */
const fillCount = (count, text, formats) => formatText(text, { count: formats.count(count) })

/** Returns the data-key of the first row that was hidden. @param {string} title */
const firstHiddenKey = (title) => `first-hidden-${title}`

/**
 * Creates a table, and a button that shows all rows if some are hidden.
 * @param {List} list
 * @param {PageData} page
 * @param {{ isExpanded: boolean, onShowAll: () => void }} options
 */
function createList({ title, headings, rows, rest }, page, { isExpanded, onShowAll }) {
  const { texts, formats } = page
  const max = Math.max(0, ...rows.map(({ revenue }) => Number(revenue.amount)))
  const currency = rows[0]?.revenue.currency ?? ''
  const bodyRows = rows.map((row, index) => {
    const isHidden = !isExpanded && index >= maxRowsAtFirst
    const bar = createBar(Number(row.revenue.amount), max, 'revenue')
    const takesFocus = isExpanded && index === maxRowsAtFirst
    return createRow(row, bar, page, {
      class: isHidden && 'more',
      tabindex: takesFocus && '-1',
      'data-key': takesFocus && firstHiddenKey(title),
    })
  })
  const showAll = createElement(
    'button',
    { type: 'button', class: 'quiet more-button', 'data-key': `more-${title}` },
    formatText(texts.showAll, { count: formats.count(rows.length) }),
  )
  showAll.addEventListener('click', onShowAll)
  const revenueHeading = `${texts.revenue} (${currency})`
  return createElement(
    'div',
    {},
    createElement('h3', {}, title),
    rows.length > 0
      ? createTable(
          title,
          [...headings, revenueHeading],
          [...bodyRows, rest && createRow(rest, null, page, { class: 'rest' })],
        )
      : createElement('p', { class: 'note' }, texts.noRows),
    !isExpanded && rows.length > maxRowsAtFirst && showAll,
  )
}

/** @param {Row} row @param {Child} bar @param {PageData} page @param {Attributes} attributes */
function createRow({ label, counts, revenue, note }, bar, { formats }, attributes) {
  const noteElement = note === null ? null : createElement('small', { class: 'row-note' }, note)
  return createElement(
    'tr',
    attributes,
    createElement('th', { scope: 'row' }, ...label, noteElement, bar),
    ...counts.map((count) => createElement('td', {}, formats.count(count))),
    createElement('td', {}, formats.amount(revenue)),
  )
}
