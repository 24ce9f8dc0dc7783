// Marks the matches in a text.
import { createPart } from '../view/part-elements.js'

/**
 * Returns a fragment of text nodes and a <mark> for each match. Ignores ranges that overlap or lie
 * outside the text.
 * @param {string} text
 * @param {[start: number, length: number][]} [ranges] in UTF-16 code units, in order
 */
export function highlightMatches(text, ranges = []) {
  const fragment = document.createDocumentFragment()
  let end = 0
  for (const [start, length] of ranges) {
    if (!(start >= end && length > 0 && start + length <= text.length)) continue
    const match = createPart('mark', 'mark', {}, text.slice(start, start + length))
    fragment.append(text.slice(end, start), match)
    end = start + length
  }
  fragment.append(text.slice(end))
  return fragment
}
