// Shows why the statistics cannot be loaded, and asks for a key if one is needed.
import { createElement, elementById, formatText } from '../../browser/elements.js'
import { clockIntervalMs } from '../dashboard-intervals.js'

/** @import { StatsError } from '../data/stats-polling.js' */
/** @import { PageData } from '../page-data.js' */
/**
 * @typedef {object} ErrorNoticeOptions
 * @property {PageData} page
 * @property {() => void} onRetry
 * @property {(key: string) => void} onKeyEntered
 */

export class ErrorNotice {
  #notice = elementById('error', HTMLElement)
  #text = elementById('error-text', HTMLElement)
  #countdown = elementById('retry-countdown', HTMLElement)
  #retryButton = elementById('retry', HTMLButtonElement)
  #keyForm = elementById('key-form', HTMLFormElement)
  #keyField = elementById('key', HTMLInputElement)
  #keyError = elementById('key-error', HTMLElement)
  #cancelButton = elementById('cancel-key', HTMLButtonElement)
  /** @type {Element | null} where the focus was before the visitor opened the form */
  #focusedBefore = null
  #texts
  /** @type {StatsError | null} */
  #error = null
  /** Whether the visitor opened the form although the statistics are shown. */
  #isFormRequested = false

  /** @param {ErrorNoticeOptions} options */
  constructor({ page, onRetry, onKeyEntered }) {
    this.#texts = page.texts
    this.#keyForm.addEventListener('submit', (event) => {
      event.preventDefault()
      const key = this.#keyField.value.trim()
      if (key === '') return this.#keyField.focus()
      this.#keyField.value = ''
      this.#isFormRequested = false
      onKeyEntered(key)
    })
    this.#keyForm.addEventListener('keydown', ({ key }) => {
      if (key === 'Escape' && this.#isFormRequested) this.#closeForm()
    })
    this.#cancelButton.addEventListener('click', () => this.#closeForm())
    this.#retryButton.addEventListener('click', onRetry)
    setInterval(() => this.#updateCountdown(), clockIntervalMs)
  }

  /** @param {StatsError} error */
  show(error) {
    const { kind } = error
    const isRepeated = this.#error?.kind === kind
    this.#error = error
    const needsKey = kind === 'keyMissing' || kind === 'keyInvalid' || kind === 'scopeMissing'
    this.#notice.hidden = needsKey
    this.#isFormRequested = false
    this.#cancelButton.hidden = true
    this.#keyForm.hidden = !needsKey
    if (needsKey) {
      this.#askForKey(kind === 'keyMissing' ? null : this.#texts.errors[kind])
      return
    }
    // Setting the same text again would make screen readers repeat it.
    if (!isRepeated) this.#showText(error, this.#texts.errors[kind])
    this.#retryButton.hidden = kind === 'limited' || kind === 'invalidFilter'
    this.#updateCountdown()
  }

  /** Opens the form for a key, although the statistics are shown. */
  askForKey() {
    this.#focusedBefore = document.activeElement
    this.#isFormRequested = true
    this.#cancelButton.hidden = false
    this.#keyForm.hidden = false
    this.#askForKey(null)
  }

  #closeForm() {
    this.#isFormRequested = false
    this.#keyForm.hidden = true
    if (this.#focusedBefore instanceof HTMLElement) this.#focusedBefore.focus()
  }

  clear() {
    this.#error = null
    this.#notice.hidden = true
    if (!this.#isFormRequested) this.#keyForm.hidden = true
    this.#text.replaceChildren()
    this.#countdown.textContent = ''
  }

  /** @param {string | null} problem why the entered key was rejected; null if none was entered */
  #askForKey(problem) {
    this.#keyError.textContent = problem
    this.#keyField.setAttribute('aria-invalid', String(problem !== null))
    this.#keyField.focus()
  }

  /**
   * @param {StatsError} error
   * @param {string} text
   */
  #showText({ kind, detail, parameters }, text) {
    const hasDetail = kind === 'invalidFilter' && detail !== ''
    this.#text.replaceChildren(
      createElement('strong', {}, formatText(text, { parameters: parameters.join(', ') })),
      hasDetail ? createElement('span', { lang: 'en', class: 'detail' }, detail) : '',
    )
  }

  #updateCountdown() {
    const retryAt = this.#error?.retryAt
    if (!retryAt) {
      this.#countdown.textContent = ''
      return
    }
    const seconds = Math.max(1, Math.ceil((retryAt - performance.now()) / 1_000))
    this.#countdown.textContent = formatText(this.#texts.retryIn, { seconds: String(seconds) })
  }
}
