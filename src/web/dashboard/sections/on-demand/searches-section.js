// Loads and shows what people search for, if the visitor's key has the scope stats:detail.
import {
  createElement,
  elementById,
  formatText,
  replaceChildren,
} from '../../../browser/elements.js'
import { fetchWithTimeout } from '../../../browser/fetch-with-timeout.js'
import { searchReportIntervalMs } from '../../dashboard-intervals.js'
import { authorizationHeader, readSessionKey } from '../../data/session-key.js'
import { createBar, createTable } from '../bar-table.js'
import { createKeyRequest } from './key-request.js'

/** @import { PageData } from '../../page-data.js' */
/** @typedef {import('../../../../search-report/report.ts').SearchReport} SearchReport */
/** @typedef {import('../../../../search-report/report.ts').ReportedText} ReportedText */

/** How many rows each table has. */
const maxRows = 10

export class SearchesSection {
  #page
  #onKeyRequested
  /** Absent if the service does not count searches. */
  #details = document.querySelector('details#searches')
  /** What was requested last. @type {{ key: string | null, at: number } | null} */
  #loaded = null

  /** @param {{ page: PageData, onKeyRequested: () => void }} options */
  constructor({ page, onKeyRequested }) {
    this.#page = page
    this.#onKeyRequested = onKeyRequested
    this.#details?.addEventListener('toggle', () => this.refresh())
  }

  /**
   * Loads the report if the section is open, and it is old or the key is another one. Nothing is
   * requested before a visitor opens the section, because most keys lack the scope.
   */
  async refresh() {
    if (!(this.#details instanceof HTMLDetailsElement) || !this.#details.open) return
    const key = readSessionKey()
    if (this.#loaded && this.#loaded.key !== key) this.clear()
    const last = this.#loaded
    if (last && performance.now() - last.at < searchReportIntervalMs) return
    const loading = { key, at: performance.now() }
    this.#loaded = loading
    const { report, status } = await this.#load()
    // The key has changed meanwhile.
    if (this.#loaded !== loading) return
    if (report) this.#show(report)
    else if (status === 401 || status === 403) this.#requestKey()
    else this.#showMessage(this.#page.texts.errors.unavailable)
  }

  /** Removes what is shown, and drops the response that may still arrive. */
  clear() {
    this.#loaded = null
    if (this.#details) this.#showMessage('')
  }

  /** @returns {Promise<{ report?: SearchReport, status: number }>} */
  async #load() {
    try {
      const response = await fetchWithTimeout('dashboard/searches', {
        headers: { accept: 'application/json', ...authorizationHeader() },
        cache: 'no-store',
        credentials: 'same-origin',
      })
      const { ok, status } = response
      return ok ? { report: await response.json(), status } : { status }
    } catch {
      // The visitor sees that the report is unavailable.
      return { status: 0 }
    }
  }

  #requestKey() {
    this.#hideTables()
    const summary = elementById('searches-summary', HTMLElement)
    if (summary.querySelector('button') === null)
      replaceChildren(summary, ...createKeyRequest(this.#page, this.#onKeyRequested))
  }

  /** @param {string} message */
  #showMessage(message) {
    this.#hideTables()
    this.#showSummary(message)
  }

  #hideTables() {
    elementById('searches-note', HTMLElement).hidden = true
    replaceChildren(elementById('searches-tables', HTMLElement))
  }

  /** Setting the same text again would make screen readers repeat it. @param {string} text */
  #showSummary(text) {
    const summary = elementById('searches-summary', HTMLElement)
    if (summary.textContent !== text) summary.textContent = text
  }

  /** @param {SearchReport} report */
  #show({ days, searches, withoutResult, frequent, unsuccessful, unknownWords }) {
    const { texts, formats } = this.#page
    const { frequent: frequentTitle, unsuccessful: unsuccessfulTitle, words } = texts.searches
    const summary = formats.choosePlural(searches, texts.searches.summary)
    this.#showSummary(
      formatText(summary, {
        days: formats.count(days),
        searches: formats.count(searches),
        withoutResult: formats.count(withoutResult),
      }),
    )
    replaceChildren(
      elementById('searches-tables', HTMLElement),
      this.#createList(frequentTitle, frequent, ({ searches }) => searches),
      this.#createList(unsuccessfulTitle, unsuccessful, ({ withoutResult }) => withoutResult),
      this.#createList(words, unknownWords, ({ searches }) => searches),
    )
    elementById('searches-note', HTMLElement).hidden = false
  }

  /**
   * @param {string} title
   * @param {ReportedText[]} reported
   * @param {(text: ReportedText) => number} countOf
   */
  #createList(title, reported, countOf) {
    const { texts, formats } = this.#page
    const shown = reported.slice(0, maxRows)
    const max = Math.max(0, ...shown.map(countOf))
    const rows = shown.map((text) =>
      createElement(
        'tr',
        {},
        createElement(
          'th',
          { scope: 'row' },
          createElement('bdi', {}, text.text),
          createBar(countOf(text), max, 'count'),
        ),
        createElement('td', {}, formats.count(countOf(text))),
      ),
    )
    return createElement(
      'div',
      {},
      createElement('h3', {}, title),
      rows.length > 0
        ? createTable(title, [texts.searches.text, texts.searches.count], rows)
        : createElement('p', { class: 'note' }, texts.searches.none),
    )
  }
}
