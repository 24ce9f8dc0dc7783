// Shows the messages of the palette: the status line, the message in place of results, and
// announcements for screen readers.
import { createPart } from './part-elements.js'

/** @import { Failure } from './search-requests.js' */
/** @import { PaletteTexts } from './palette.d.ts' */

/** Screen readers announce the number of results after this pause in typing, not at each key. */
const announcementDelayMs = 600
/** How often the seconds that remain of a rate limit are updated. */
const countdownIntervalMs = 500

export class StatusMessages {
  /** Shown in place of the result list while there are no results. */
  message = createPart('div', 'message', { dir: 'auto' })
  status = createPart('span', 'status', { 'aria-hidden': 'true', dir: 'auto' })
  live = createPart('span', 'live', { role: 'status' })
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #announcementTimer
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #countdownTimer
  /** Why Enter chose nothing. It stays until the next response. */
  #refusal = ''
  /** Shows the current failure again. @type {(() => void) | null} */
  #updateFailure = null

  /** Adds the list of results with the messages around it to a panel. @param {Element} list @param {Element} panel @param {Element[]} hints */
  surround(list, panel, ...hints) {
    panel.append(
      createPart('div', 'progress'),
      createPart('div', 'results', {}, list, this.message),
      createPart('div', 'footer', {}, this.status, ...hints),
      this.live,
    )
  }

  /** @param {string} text @param {'' | 'trouble' | 'degraded'} [part] an additional part */
  showStatus(text, part = '') {
    this.status.textContent = text
    this.status.setAttribute('part', `status ${part}`.trim())
  }

  /** @param {string} text @param {number} [delayMs] */
  announce(text, delayMs = announcementDelayMs) {
    clearTimeout(this.#announcementTimer)
    this.#announcementTimer = setTimeout(() => this.live.replaceChildren(text), delayMs)
  }

  /** @param {string} nothing that there are no results @param {string} advice */
  showNothing(nothing, advice) {
    this.message.replaceChildren(
      createPart('strong', '', {}, nothing),
      createPart('span', '', {}, advice),
    )
  }

  /**
   * Shows why a search failed. Results that are on the screen stay.
   * @param {Failure} failure
   * @param {PaletteTexts} texts
   * @param {boolean} hasResults
   */
  showFailure({ reason, retryAt }, texts, hasResults) {
    const text = () =>
      reason === 'limited'
        ? texts.limited(Math.max(1, Math.ceil((retryAt - Date.now()) / 1000)))
        : texts.failures[reason]
    const update = () => {
      this.showStatus(`${text()} ${this.#refusal}`.trim(), 'trouble')
      if (!hasResults) this.message.replaceChildren(createPart('strong', '', {}, text()))
    }
    clearInterval(this.#countdownTimer)
    this.#updateFailure = update
    update()
    this.message.hidden = hasResults
    if (reason === 'limited') this.#countdownTimer = setInterval(update, countdownIntervalMs)
    this.announce(text(), 0)
  }

  /** Forgets a failure and a refusal. */
  clear() {
    clearInterval(this.#countdownTimer)
    this.#updateFailure = null
    this.#refusal = ''
  }

  /** Says that nothing was chosen, besides a failure that is shown. @param {string} text */
  refuse(text) {
    this.#refusal = text
    if (this.#updateFailure) this.#updateFailure()
    else this.showStatus(text, 'trouble')
    this.announce(text, 0)
  }

  /** Shows a status and announces it. @param {string} text @param {'' | 'trouble'} [part] */
  say(text, part) {
    this.showStatus(text, part)
    this.announce(text, 0)
  }

  /** Stops timers and clears the announcement after the palette was closed. */
  reset() {
    this.clear()
    clearTimeout(this.#announcementTimer)
    this.live.textContent = ''
  }
}
