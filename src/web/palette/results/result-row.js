// Creates a row of the result list: name, SKU, brand, category and price of a product.
import { clock, createIcon, createPart } from '../view/part-elements.js'
import { highlightMatches } from './highlighted-text.js'
import { formatPrice } from './price-format.js'

/** @import { Hit } from '../palette.d.ts' */

/** How many characters of a description are shown before its first match. */
const charactersBeforeMatch = 12

/**
 * Returns the element of an option.
 * @param {Hit} hit
 * @param {{ id: string, isRecent: boolean, language: string }} options
 */
export function createResultRow(hit, { id, isRecent, language }) {
  const name = createPart('bdi', null, {}, highlightMatches(hit.name, hit.highlights.name))
  const facts = createFacts(hit).flatMap((fact, index) => (index > 0 ? [' · ', fact] : [fact]))
  return createPart(
    'div',
    'option',
    { role: 'option', id, 'aria-selected': 'false' },
    ...(isRecent ? [createIcon(clock)] : []),
    createPart(
      'span',
      'text',
      {},
      createPart('span', 'name', {}, name),
      ' ',
      createPart('span', 'detail', {}, ...facts),
    ),
    ' ',
    createPart('span', 'price', {}, formatPrice(hit, language)),
  )
}

/** @param {Hit} hit */
function createFacts({ sku, category, brand, hsCode, description, highlights }) {
  const facts = [createPart('span', 'sku', {}, highlightMatches(sku, highlights.sku))]
  const addFact = (/** @type {(Node | string)[]} */ ...content) =>
    facts.push(createPart('span', 'fact', {}, ...content))
  if (brand) addFact(highlightMatches(brand, highlights.brand))
  if (category) addFact(highlightMatches(category, highlights.category))
  // HS code and description are shown only if they contain a match.
  if (hsCode && highlights.hsCode) addFact('HS ', highlightMatches(hsCode, highlights.hsCode))
  if (description && highlights.description && !highlights.name)
    addFact(...excerptAroundMatch(description, highlights.description))
  return facts
}

/**
 * Returns the end of a text, beginning shortly before its first match.
 * @param {string} text
 * @param {[start: number, length: number][]} ranges
 */
function excerptAroundMatch(text, ranges) {
  const excerptStart = Math.max(0, (ranges[0]?.[0] ?? 0) - charactersBeforeMatch)
  const shifted = ranges.map(
    ([start, length]) => /** @type {[number, number]} */ ([start - excerptStart, length]),
  )
  return [excerptStart > 0 ? '…' : '', highlightMatches(text.slice(excerptStart), shifted)]
}
