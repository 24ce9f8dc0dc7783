// Creates a row of the result list: a product with its SKU, brand, category and price, or an
// action.
import { formatExactly } from 'trade-quoting-palette/format-exactly'
import { createPart } from './part-elements.js'

/** @import { Hit, PaletteTexts, RenderOption } from './palette.d.ts' */

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
  const star = createPart('span', 'star', { role: 'img', 'aria-label': texts.hints.favourite })
  const row = createRow(
    id,
    content ?? createContent(hit, texts),
    ' ',
    // On a narrow screen they stay together beside the name or below it.
    createPart(
      'span',
      'end',
      {},
      ...(content ? [] : [createPart('span', 'price', {}, formatPrice(hit, language))]),
      ...(favourites ? [star] : []),
      // On a touch screen: chooses the product and keeps the palette open.
      createPart('span', 'add', { 'aria-hidden': 'true' }, '+'),
    ),
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
  star?.replaceChildren(isFavourite ? '★' : '☆')
  star?.setAttribute('aria-hidden', String(!isFavourite))
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
    createPart('span', 'name', {}, createPart('bdi', '', {}, name)),
    ' ',
    createPart('span', 'detail', {}, ...details),
  )
}

/** @param {string} id @param {(Node | string)[]} children */
function createRow(id, ...children) {
  return createPart('div', 'option', { role: 'option', id, 'aria-selected': 'false' }, ...children)
}

/** @param {Hit} hit @param {PaletteTexts} texts */
function createContent(hit, texts) {
  const facts = createFacts(hit, texts).flatMap((fact, index) =>
    index > 0 ? [' · ', fact] : [fact],
  )
  return createText(highlightMatches(hit.name, hit.highlights.name), ...facts)
}

/** @param {Hit} hit @param {PaletteTexts} texts */
function createFacts({ sku, category, brand, hsCode, description, highlights, match }, texts) {
  const facts = [
    createPart(
      'span',
      'sku',
      {},
      highlightMatches(sku, highlights.sku),
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
  const start = Math.max(0, (ranges[0]?.[0] ?? 0) - charactersBeforeMatch)
  return [start > 0 ? '…' : '', highlightMatches(text, ranges, start)]
}

/**
 * Returns a fragment of text nodes and a <mark> for each match. Ignores ranges that overlap or lie
 * outside the text.
 * @param {string} text
 * @param {[start: number, length: number][]} [ranges] in UTF-16 code units, in order
 * @param {number} end the end of what was added; at first, where the text begins
 */
function highlightMatches(text, ranges = [], end = 0) {
  const fragment = document.createDocumentFragment()
  for (const [start, length] of ranges) {
    if (!(start >= end && length > 0 && start + length <= text.length)) continue
    const match = createPart('mark', 'mark', {}, text.slice(start, start + length))
    fragment.append(text.slice(end, start), match)
    end = start + length
  }
  fragment.append(text.slice(end))
  return fragment
}

/** Symbols of UN/ECE unit codes. Other units are not shown. @type {Record<string, string>} */
const unitSymbols = { KGM: 'kg', GRM: 'g', MTR: 'm', MTK: 'm²', MTQ: 'm³', LTR: 'l' }

/**
 * Returns the price with exactly the decimals of the response, or '' if there is no price.
 * @param {Hit} hit
 * @param {string} language
 */
function formatPrice({ price, unit }, language) {
  if (!price) return ''
  const { amount, currency } = price
  const symbol = unit && unitSymbols[unit]
  const perUnit = symbol ? ` / ${symbol}` : ''
  try {
    return formatExactly(amount, language, { style: 'currency', currency }) + perUnit
  } catch {
    // The `lang` attribute is no valid language tag.
    return `${amount} ${currency}${perUnit}`
  }
}
