// The link that downloads the shown statistics as CSV.
import { createElement, elementById } from '../../browser/elements.js'
import { fetchWithTimeout } from '../../browser/fetch-with-timeout.js'
import { downloadUrlLifetimeMs } from '../dashboard-intervals.js'
import { describeError, describeNetworkError } from './response-errors.js'
import { authorizationHeader, readSessionKey } from './session-key.js'

/** @import { ErrorDescription } from './response-errors.js' */

export class CsvDownload {
  #link = elementById('csv', HTMLAnchorElement)
  #language

  /** @param {{ language: string, onFailure: (error: ErrorDescription) => void }} options */
  constructor({ language, onFailure }) {
    this.#language = language
    this.#link.addEventListener('click', (event) => {
      // A link cannot send a key in a header, so with a key the script downloads the file.
      if (readSessionKey() === null) return
      event.preventDefault()
      void this.#download(onFailure)
    })
  }

  /** @param {string} query for /api/stats */
  setQuery(query) {
    const parameters = new URLSearchParams(query)
    parameters.set('format', 'csv')
    parameters.set('locale', this.#language)
    this.#link.href = `api/stats?${parameters}`
  }

  /**
   * Names the file after the period, the country and the currency. Leaves out a part that is ''.
   * @param {{ from: string, to: string }} period
   * @param {{ country: string, currency: string }} filters
   */
  setFileName({ from, to }, { country, currency }) {
    const parts = ['stats', from, to, country, currency].filter((part) => part !== '')
    this.#link.download = `${parts.join('-')}.csv`
  }

  /** @param {(error: ErrorDescription) => void} onFailure */
  async #download(onFailure) {
    const { href, download } = this.#link
    /** @type {Blob} */
    let file
    try {
      const response = await fetchWithTimeout(href, { headers: authorizationHeader() })
      if (!response.ok) return onFailure(await describeError(response, true))
      file = await response.blob()
    } catch {
      // The browser logs network errors.
      return onFailure(describeNetworkError())
    }
    const url = URL.createObjectURL(file)
    createElement('a', { href: url, download }).click()
    setTimeout(() => URL.revokeObjectURL(url), downloadUrlLifetimeMs)
  }
}
