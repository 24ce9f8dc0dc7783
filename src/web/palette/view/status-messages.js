// Shows the messages of the palette: the status line, the message in place of results, and
// announcements for screen readers.
import { announcementDelayMs, countdownIntervalMs } from '../palette-timeouts.js'
import { createPart } from './part-elements.js'

/** @import { Failure } from '../search-requests.js' */
/** @import { PaletteTexts } from '../palette.d.ts' */

export class StatusMessages {
  /** Shown in place of the result list while there are no results. */
  message = createPart('div', 'message', { dir: 'auto' })
  statusLine = createPart('span', 'status', { 'aria-hidden': 'true', dir: 'auto' })
  liveRegion = createPart('span', 'live', { role: 'status' })
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #announcementTimer
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #countdownTimer
  /** Why Enter chose nothing. It stays until the next response. */
  #refusal = ''
  /** Shows the current failure again. @type {(() => void) | null} */
  #updateFailure = null

  /** @param {string} text @param {'' | 'trouble' | 'degraded'} [part] an additional part */
  showStatus(text, part = '') {
    this.statusLine.textContent = text
    this.statusLine.setAttribute('part', `status ${part}`.trim())
  }

  /** @param {string} text @param {number} [delayMs] */
  announce(text, delayMs = announcementDelayMs) {
    clearTimeout(this.#announcementTimer)
    this.#announcementTimer = setTimeout(() => this.liveRegion.replaceChildren(text), delayMs)
  }

  /** @param {string} nothing that there are no results @param {string} advice */
  showNothingFound(nothing, advice) {
    this.message.replaceChildren(
      createPart('strong', null, {}, nothing),
      createPart('span', null, {}, advice),
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
      if (!hasResults) this.message.replaceChildren(createPart('strong', null, {}, text()))
    }
    clearInterval(this.#countdownTimer)
    this.#updateFailure = update
    update()
    this.message.hidden = hasResults
    if (reason === 'limited') this.#countdownTimer = setInterval(update, countdownIntervalMs)
    this.announce(text(), 0)
  }

  clearFailure() {
    clearInterval(this.#countdownTimer)
    this.#updateFailure = null
    this.#refusal = ''
  }

  /** Says that nothing was chosen, besides a failure that is shown. @param {string} text */
  showRefusal(text) {
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
    this.clearFailure()
    clearTimeout(this.#announcementTimer)
    this.liveRegion.textContent = ''
  }
}
