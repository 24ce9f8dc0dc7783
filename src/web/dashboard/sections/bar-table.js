// Creates tables with a bar in each row, and the bars.
import { createElement } from '../../browser/elements.js'

/** @import { Child } from '../../browser/elements.js' */

/** @param {string} caption @param {string[]} headings @param {Child[]} rows */
export function createTable(caption, headings, rows) {
  const headingCells = headings.map((text) => createElement('th', { scope: 'col' }, text))
  return createElement(
    'table',
    {},
    createElement('caption', { class: 'hidden' }, caption),
    createElement('thead', {}, createElement('tr', {}, ...headingCells)),
    createElement('tbody', {}, ...rows),
  )
}

/**
 * Creates a bar whose length is the value's share of the maximum. Hidden from screen readers: the
 * row contains the number.
 * @param {number} value
 * @param {number} max
 * @param {string} name
 */
export function createBar(value, max, name) {
  const bar = createElement('span', { class: `meter ${name}` })
  bar.style.inlineSize = `${max > 0 ? Math.max(0, (value / max) * 100) : 0}%`
  return createElement('span', { class: 'track', 'aria-hidden': 'true' }, bar)
}
