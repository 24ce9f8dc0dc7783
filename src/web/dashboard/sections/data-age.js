// Shows at what time the statistics were current, and how long ago that is.
import { elementById, formatText } from '../../browser/elements.js'
import { clockIntervalMs } from '../dashboard-intervals.js'

/** @import { PageData } from '../page-data.js' */
/**
 * @typedef {object} DataState
 * @property {number} asOf Unix time in milliseconds
 * @property {number} currentAt on the clock of performance.now()
 * @property {boolean} isStale
 */

export class DataAge {
  #container = elementById('data-age', HTMLElement)
  #text = elementById('data-age-text', HTMLTimeElement)
  #page
  /** @type {DataState | null} */
  #state = null

  /** @param {PageData} page */
  constructor(page) {
    this.#page = page
    setInterval(() => this.#update(), clockIntervalMs)
  }

  /** @param {DataState} state */
  show({ asOf, currentAt, isStale }) {
    this.#state = { asOf, currentAt, isStale }
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
    const { asOf, currentAt, isStale } = this.#state
    const { texts, formats } = this.#page
    const seconds = Math.max(0, Math.floor((performance.now() - currentAt) / 1_000))
    const age = formats.ago(seconds)
    const text = formatText(isStale ? texts.notUpdated : texts.updated, {
      time: formats.time(asOf),
      age,
    })
    this.#text.dateTime = new Date(asOf).toISOString()
    this.#text.title = age
    if (this.#text.textContent !== text) this.#text.textContent = text
    this.#container.dataset.state = isStale ? 'stale' : 'fresh'
  }
}
