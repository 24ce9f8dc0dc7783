// Creates a row of the result list: a product with its SKU, brand, category and price, or an
// action.
import { createPart } from '../view/part-elements.js'
import { highlightMatches } from './highlighted-text.js'
import { formatPrice } from './price-format.js'

/** @import { Hit, PaletteTexts, RenderOption } from '../palette.d.ts' */

/** How many characters of a description are shown before its first match. */
const charactersBeforeMatch = 12

/**
 * Returns the element of a product's option.
 * @param {Hit} hit
 * @param {{
 *   id: string,
 *   language: string,
 *   renderOption: RenderOption | null,
 *   favourites: Hit[] | undefined,
 *   texts: PaletteTexts,
 * }} options
 */
export function createProductRow(hit, options) {
  const { id, language, renderOption, favourites, texts } = options
  const content = renderOption?.(hit, (field) =>
    highlightMatches(hit[field] ?? '', hit.highlights[field]),
  )
  const isFavourite = favourites?.some((favourite) => favourite.id === hit.id) ?? false
  const row = createRow(
    id,
    ...(content ? [content] : createContent(hit, language, texts)),
    ...(favourites
      ? [createPart('span', 'star', { role: 'img', 'aria-label': texts.hints.favourite })]
      : []),
    // On a touch screen: chooses the product and keeps the palette open.
    createPart('span', 'add', { 'aria-hidden': 'true' }, '+'),
  )
  showFavourite(row, isFavourite)
  return row
}

/**
 * Shows in a row whether its product is a favourite. Screen readers read the star only then.
 * @param {Element} row
 * @param {boolean} isFavourite
 */
export function showFavourite(row, isFavourite) {
  const star = row.querySelector('[part=star]')
  if (star) {
    star.textContent = isFavourite ? '★' : '☆'
    star.ariaHidden = String(!isFavourite)
  }
  row.toggleAttribute('data-favourite', isFavourite)
}

/**
 * Returns the element of the option of an action.
 * @param {{ label: string, detail?: string }} action
 * @param {string} id
 */
export function createActionRow({ label, detail }, id) {
  return createRow(id, createText(label, detail ?? ''))
}

/** @param {Node | string} name @param {(Node | string)[]} details */
function createText(name, ...details) {
  return createPart(
    'span',
    'text',
    {},
    createPart('span', 'name', {}, createPart('bdi', null, {}, name)),
    ' ',
    createPart('span', 'detail', {}, ...details),
  )
}

/** @param {string} id @param {(Node | string)[]} children */
function createRow(id, ...children) {
  return createPart('div', 'option', { role: 'option', id, 'aria-selected': 'false' }, ...children)
}

/** @param {Hit} hit @param {string} language @param {PaletteTexts} texts */
function createContent(hit, language, texts) {
  const facts = createFacts(hit, texts).flatMap((fact, index) =>
    index > 0 ? [' · ', fact] : [fact],
  )
  return [
    createText(highlightMatches(hit.name, hit.highlights.name), ...facts),
    ' ',
    createPart('span', 'price', {}, formatPrice(hit, language)),
  ]
}

/** @param {Hit} hit @param {PaletteTexts} texts */
function createFacts({ sku, category, brand, hsCode, description, highlights, match }, texts) {
  const facts = [
    createPart(
      'span',
      null,
      {},
      createPart('span', 'sku', {}, highlightMatches(sku, highlights.sku)),
      createPart('span', 'copy'),
    ),
  ]
  const addFact = (/** @type {(Node | string)[]} */ ...content) =>
    facts.push(createPart('span', 'fact', {}, ...content))
  if (match === 'corrected') facts.push(createPart('span', 'fact corrected', {}, texts.didYouMean))
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
