// Shows the beginning of a response as a program receives it.
import { elementById } from '../browser/elements.js'

/**
 * @param {string} id
 * @param {object} beginning of the response
 */
export function showResponseSample(id, beginning) {
  const text = JSON.stringify(beginning, null, 2)
    // Puts objects without nested objects on one line.
    .replace(/\{\s+("[^{}]*")\s+\}/g, (_all, fields) => `{ ${fields.replace(/\s+/g, ' ')} }`)
    .replace(/\n\}$/, ',\n  …\n}')
  const code = elementById(id, HTMLElement)
  code.textContent = text
  code.closest('figure')?.removeAttribute('hidden')
}
