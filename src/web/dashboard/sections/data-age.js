// Shows how old the statistics are.
import { elementById, formatText } from '../../browser/elements.js'
import { clockIntervalMs } from '../dashboard-intervals.js'

/** @import { PageData } from '../page-data.js' */
/**
 * @typedef {object} DataState
 * @property {number} computedAt on the clock of performance.now()
 * @property {boolean} isStale
 */

export class DataAge {
  #container = elementById('data-age', HTMLElement)
  #text = elementById('data-age-text', HTMLElement)
  #page
  /** @type {DataState | null} */
  #state = null

  /** @param {PageData} page */
  constructor(page) {
    this.#page = page
    setInterval(() => this.#update(), clockIntervalMs)
  }

  /** @param {DataState} state */
  show({ computedAt, isStale }) {
    this.#state = { computedAt, isStale }
    this.#update()
  }

  /** Says that the shown statistics are not updated, because the last request failed. */
  markStale() {
    if (this.#state) this.#state.isStale = true
    this.#update()
  }

  hide() {
    this.#state = null
    this.#update()
  }

  #update() {
    this.#container.hidden = this.#state === null
    if (!this.#state) return
    const { computedAt, isStale } = this.#state
    const { texts, formats } = this.#page
    const seconds = Math.max(0, Math.floor((performance.now() - computedAt) / 1_000))
    const text = formatText(isStale ? texts.notUpdated : texts.updated, {
      age: formats.ago(seconds),
    })
    if (this.#text.textContent !== text) this.#text.textContent = text
    this.#container.dataset.state = isStale ? 'stale' : 'fresh'
  }
}
