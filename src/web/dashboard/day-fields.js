// The first and the last day, as fields: they take what is written once it is meant, and whoever is writing is left alone.
import { byId } from './elements.js'
import { isDay } from './filters.js'

/** @typedef {{ from: string, to: string }} Days */

const pauseMs = 500
// A year that is being written passes through 0002, 0020 and 0202.
const leastDay = '1000'

/**
 * @param {{ choose: (days: Days) => void, lookedAt: () => Days }} options lookedAt: the days whose figures are shown or asked for
 */
export function dayFields({ choose, lookedAt }) {
  const fields = { from: byId('from', HTMLInputElement), to: byId('to', HTMLInputElement) }
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let writing

  for (const name of /** @type {const} */ (['from', 'to'])) {
    const field = fields[name]
    const take = () => {
      clearTimeout(writing)
      const { from, to } = { from: fields.from.value, to: fields.to.value }
      if (
        field.value < leastDay ||
        (from !== '' && to !== '' && from > to && document.activeElement === field)
      )
        return
      choose({ from, to })
    }
    field.addEventListener('change', () => {
      clearTimeout(writing)
      writing = setTimeout(take, pauseMs)
    })
    field.addEventListener('blur', () => {
      if (field.value !== lookedAt()[name] && field.value >= leastDay) take()
    })
  }

  return {
    /** @param {Days} days */
    show(days) {
      for (const name of /** @type {const} */ (['from', 'to'])) {
        if (document.activeElement !== fields[name])
          fields[name].value = isDay(days[name]) ? days[name] : ''
      }
    },
  }
}
