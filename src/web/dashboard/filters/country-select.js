// The select box of countries. At first it lists the countries of the responses so far. It loads
// all countries when the visitor is about to use it.
import { createElement, elementById } from '../../browser/elements.js'
import { fetchWithTimeout } from '../../browser/fetch-with-timeout.js'
import { authorizationHeader } from '../data/session-key.js'

/** @import { Stats } from '../data/stats-polling.js' */
/** @import { PageData } from '../page-data.js' */

export class CountrySelect {
  #select = elementById('country', HTMLSelectElement)
  #page
  #selectedCountry = ''
  #isLoaded = false

  /** @param {{ page: PageData, onChange: (country: string) => void }} options */
  constructor({ page, onChange }) {
    this.#page = page
    this.#select.addEventListener('change', () => onChange(this.#select.value))
    for (const type of ['focus', 'pointerenter'])
      this.#select.addEventListener(type, () => this.#loadAll())
  }

  /** @param {string} country its code, '' for all */
  show(country) {
    this.#selectedCountry = country
    this.#add(country)
    this.#select.value = country
  }

  /** @param {Stats} stats */
  addCountriesOf({ byCountry }) {
    for (const { country } of byCountry) this.#add(country ?? 'unknown')
    this.#select.value = this.#selectedCountry
  }

  /** Returns the name of a country in the language of the page. @param {string} code */
  nameOf(code) {
    const { texts, formats } = this.#page
    if (code === 'unknown') return texts.unknownCountry
    return /^[A-Z]{2}$/.test(code) ? formats.country(code) : code
  }

  /** Adds the countries of all quotes once. If the request fails, the next event repeats it. */
  async #loadAll() {
    if (this.#isLoaded) return
    this.#isLoaded = true
    try {
      const response = await fetchWithTimeout('api/stats', {
        headers: authorizationHeader(),
        credentials: 'same-origin',
      })
      this.#isLoaded = response.ok
      if (response.ok) this.addCountriesOf(await response.json())
    } catch {
      // The browser logs network errors.
      this.#isLoaded = false
    }
  }

  /** Inserts a country in alphabetical order, unless it is there. @param {string} code */
  #add(code) {
    const options = [...this.#select.options]
    if (options.some(({ value }) => value === code)) return
    const name = this.nameOf(code)
    const next = options.find(
      ({ value, text }) => value !== '' && text.localeCompare(name, this.#page.language) > 0,
    )
    this.#select.add(createElement('option', { value: code }, name), next ?? null)
  }
}
