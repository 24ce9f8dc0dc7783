// The two date fields of the period. They apply a date when the visitor stops typing. The field
// that has the focus is never overwritten.
import { elementById } from '../../browser/elements.js'
import { dateInputDelayMs } from '../dashboard-intervals.js'
import { isDay } from './preset-and-adjacent-periods.js'

/** @import { Period } from './preset-and-adjacent-periods.js' */

/** Earlier days are ignored: while 2026 is typed, the year is 0002, 0020 and 0202. */
const earliestDay = '1000'
const fieldNames = /** @type {const} */ (['from', 'to'])

export class DateFields {
  #fields = {
    from: elementById('from', HTMLInputElement),
    to: elementById('to', HTMLInputElement),
  }
  #onChange
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #inputTimer

  /**
   * @param {object} options
   * @param {(period: Period) => void} options.onChange
   * @param {() => Period} options.currentPeriod the period that is being loaded, or else shown
   */
  constructor({ onChange, currentPeriod }) {
    this.#onChange = onChange
    for (const name of fieldNames) {
      const field = this.#fields[name]
      field.addEventListener('change', () => {
        clearTimeout(this.#inputTimer)
        this.#inputTimer = setTimeout(() => this.#apply(field), dateInputDelayMs)
      })
      field.addEventListener('blur', () => {
        const current = currentPeriod()
        if (field.value < earliestDay) this.show(current)
        else if (field.value !== current[name]) this.#apply(field)
      })
    }
  }

  /** @param {Period} period */
  show(period) {
    for (const name of fieldNames) {
      const field = this.#fields[name]
      if (document.activeElement !== field) field.value = isDay(period[name]) ? period[name] : ''
    }
  }

  /** @param {HTMLInputElement} field */
  #apply(field) {
    if (field.value < earliestDay) return
    clearTimeout(this.#inputTimer)
    const { from, to } = this.#fields
    const isReversed = from.value !== '' && to.value !== '' && from.value > to.value
    // The visitor may change the other field next.
    if (isReversed && document.activeElement === field) return
    this.#onChange({ from: from.value, to: to.value })
  }
}
