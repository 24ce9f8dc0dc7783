// Shows why the statistics cannot be loaded, and asks for a key if one is needed.
import { createElement, elementById, formatText } from '../../browser/elements.js'
import { clockIntervalMs } from '../dashboard-intervals.js'
import { needsKey } from '../data/stats-polling.js'

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
    this.#error = error
    this.#notice.hidden = needsKey(kind)
    if (needsKey(kind)) {
      this.#isFormRequested = false
      this.#cancelButton.hidden = true
      this.#keyForm.hidden = false
      this.#askForKey(kind === 'keyMissing' ? null : this.#texts.errors[kind])
      return
    }
    this.#showText(error, this.#texts.errors[kind])
    this.#retryButton.hidden = kind === 'limited' || kind === 'invalidFilter'
    this.#updateCountdown()
    this.#hideUnneededForm(this.#retryButton)
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

  /** Hides the notice after the statistics were shown. */
  clear() {
    this.#error = null
    this.#notice.hidden = true
    const section = this.#focusedBefore?.closest('details')?.querySelector('summary')
    this.#hideUnneededForm(section ?? elementById('period', HTMLElement))
    this.#text.replaceChildren()
    this.#countdown.textContent = ''
  }

  /**
   * Hides the form, unless the visitor has opened it and may be typing. If the focus was in it, it
   * would be lost with the form, so another element gets it.
   * @param {HTMLElement} nextFocus
   */
  #hideUnneededForm(nextFocus) {
    if (this.#isFormRequested) return
    const hadFocus = this.#keyForm.contains(document.activeElement)
    this.#keyForm.hidden = true
    if (hadFocus) nextFocus.focus()
    this.#focusedBefore = null
  }

  /** @param {string | null} problem why the entered key was rejected; null if none was entered */
  #askForKey(problem) {
    this.#keyError.textContent = problem
    this.#keyField.setAttribute('aria-invalid', String(problem !== null))
    this.#keyField.focus()
  }

  /** @param {StatsError} error @param {string} text */
  #showText({ kind, detail, parameters }, text) {
    const reason = formatText(text, { parameters: parameters.join(', ') })
    const shownDetail = kind === 'invalidFilter' ? detail : ''
    // Setting the same text again would make screen readers repeat it.
    if (this.#text.textContent === reason + shownDetail) return
    this.#text.replaceChildren(
      createElement('strong', {}, reason),
      shownDetail && createElement('span', { lang: 'en', class: 'detail' }, shownDetail),
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
