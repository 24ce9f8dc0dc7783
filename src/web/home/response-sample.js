// Shows the beginning of a response as JSON.
import { elementById } from '../browser/elements.js'

/**
 * Shows the first fields of a response as JSON, followed by an ellipsis.
 * @param {string} id
 * @param {object} firstFields
 */
export function showResponseSample(id, firstFields) {
  const text = JSON.stringify(firstFields, null, 2)
    // Puts each object that contains no other object on one line.
    .replace(/\{\s+("[^{}]*")\s+\}/g, (_all, fields) => `{ ${fields.replace(/\s+/g, ' ')} }`)
    // Inserts the ellipsis before the last brace.
    .replace(/\n\}$/, ',\n  …\n}')
  const code = elementById(id, HTMLElement)
  code.textContent = text
  code.closest('figure')?.removeAttribute('hidden')
}
