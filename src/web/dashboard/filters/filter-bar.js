// The controls that select the period, the country, the date and the comparison.
import { elementById } from '../../browser/elements.js'
import { CountrySelect } from './country-select.js'
import { DateFields } from './date-fields.js'
import { adjacentPeriod, isDay, periodOf, todayIn } from './preset-and-adjacent-periods.js'

/** @import { Stats } from '../data/stats-polling.js' */
/** @import { PageData } from '../page-data.js' */
/** @import { Filters, Preset } from './filter-address.js' */
/** @import { Period } from './preset-and-adjacent-periods.js' */
/**
 * @typedef {object} FilterBarOptions
 * @property {PageData} page
 * @property {(change: Partial<Filters>) => void} onChange
 * @property {(change: Partial<Filters>) => string} addressWith returns the address of the changed
 *   filters
 * @property {() => Period | undefined} shownPeriod returns the period of the shown statistics, or
 *   undefined while those of other filters are loading
 */

export class FilterBar {
  #page
  #onChange
  #addressWith
  #dateFields
  #countrySelect
  /** @type {Filters | null} */
  #filters = null

  /** @param {FilterBarOptions} options */
  constructor({ page, onChange, addressWith, shownPeriod }) {
    this.#page = page
    this.#onChange = onChange
    this.#addressWith = addressWith
    this.#countrySelect = new CountrySelect({ page, onChange: (country) => onChange({ country }) })
    this.#dateFields = new DateFields({
      onChange: (period) => onChange({ preset: 'custom', ...period, by: '', within: '' }),
      currentPeriod: () => shownPeriod() ?? this.#requestedPeriod(),
    })
    for (const name of /** @type {const} */ (['date', 'compare'])) {
      const select = elementById(name, HTMLSelectElement)
      select.addEventListener('change', () => onChange({ [name]: select.value }))
    }
  }

  /** Shows filters whose statistics are being loaded. @param {Filters} filters */
  showFilters(filters) {
    this.#filters = filters
    markCurrentLink('data-preset', filters.preset, (preset) =>
      this.#addressWith({ preset: /** @type {Preset} */ (preset), by: '', within: '' }),
    )
    const period = this.#requestedPeriod()
    this.#dateFields.show(period)
    // The buttons work before the response arrives.
    if (isDay(period.from) && isDay(period.to)) this.#showAdjacentPeriods(period)
    this.#countrySelect.show(filters.country)
    elementById('date', HTMLSelectElement).value = filters.date
    elementById('compare', HTMLSelectElement).value = filters.compare
  }

  /** Shows the period and the countries of a response. @param {Stats} stats */
  showStats(stats) {
    this.#dateFields.show(stats.period)
    this.#showAdjacentPeriods(stats.period)
    this.#countrySelect.addCountriesOf(stats)
  }

  /** @param {string} code */
  countryName(code) {
    return this.#countrySelect.nameOf(code)
  }

  /** @returns {Period} */
  #requestedPeriod() {
    if (!this.#filters) return { from: '', to: '' }
    return periodOf(this.#filters, todayIn(this.#page.timeZone))
  }

  /** @param {Period} period */
  #showAdjacentPeriods(period) {
    const preset = this.#filters?.preset ?? 'custom'
    const today = todayIn(this.#page.timeZone)
    for (const [id, direction] of /** @type {const} */ ([
      ['previous', -1],
      ['next', 1],
    ])) {
      const adjacent = preset === 'all' ? null : adjacentPeriod(preset, period, direction, today)
      const button = elementById(id, HTMLButtonElement)
      button.disabled = adjacent === null
      button.onclick = () => adjacent && this.#onChange({ preset: 'custom', ...adjacent })
    }
  }
}

/**
 * Sets the address of each link that has `attribute`, and marks the one whose value is `current`.
 * @param {string} attribute
 * @param {string} current
 * @param {(value: string) => string} addressOfValue
 */
export function markCurrentLink(attribute, current, addressOfValue) {
  for (const link of document.querySelectorAll(`a[${attribute}]`)) {
    const value = link.getAttribute(attribute) ?? ''
    link.setAttribute('href', addressOfValue(value))
    if (value === current) link.setAttribute('aria-current', 'true')
    else link.removeAttribute('aria-current')
  }
}
