// Chooses the language of the palette: that of its element, an ancestor, or the document.
import { palette as english } from 'trade-quoting-palette/texts/en'

/** @import { PaletteStrings, PaletteTexts } from './palette.d.ts' */

/** The texts of the script itself, and those that were loaded. @type {Map<string, PaletteTexts>} */
const textsByLanguage = new Map([['en', english]])

/**
 * Loads the texts of a language that the script does not contain. Bundlers make a file of each.
 * They come from src/texts/: in the package by prepare-package.js, else by static-files.ts.
 * @type {Record<string, () => Promise<{ palette: PaletteTexts }>>}
 */
const furtherLanguages = {
  ca: () => import('trade-quoting-palette/texts/ca'),
  de: () => import('trade-quoting-palette/texts/de'),
  es: () => import('trade-quoting-palette/texts/es'),
  fr: () => import('trade-quoting-palette/texts/fr'),
  it: () => import('trade-quoting-palette/texts/it'),
  pt: () => import('trade-quoting-palette/texts/pt'),
}

/**
 * Loads the texts of an element's language if they are in a file of their own.
 * @param {Element} element
 * @returns {Promise<boolean>} whether they are new
 */
export async function loadTexts(element) {
  const code = languageCode(findTag(element))
  if (textsByLanguage.has(code)) return false
  try {
    const file = await furtherLanguages[code]?.()
    if (file) textsByLanguage.set(code, file.palette)
    return file !== undefined
  } catch {
    // The browser logs the error. The texts are then English.
    return false
  }
}

/**
 * Returns the language of an element and the texts in it. If there are none, texts and prices are
 * English, so that no page mixes two languages. `language` is a BCP 47 tag for formatting prices,
 * `code` the language of the texts.
 * @param {Element} element
 * @param {PaletteStrings | null} [ownTexts] texts of the page in its own language
 */
export function findLanguage(element, ownTexts) {
  const language = findTag(element)
  const code = languageCode(language)
  const texts = textsByLanguage.get(code)
  const isKnown = texts !== undefined || Boolean(ownTexts)
  return {
    language: isKnown ? language : 'en',
    texts: addOwnTexts(texts ?? english, ownTexts ?? {}),
    code: isKnown ? code : 'en',
  }
}

/** @param {PaletteTexts} texts @param {PaletteStrings} own @returns {PaletteTexts} */
function addOwnTexts(texts, own) {
  return {
    ...texts,
    ...own,
    failures: { ...texts.failures, ...own.failures },
    hints: { ...texts.hints, ...own.hints },
  }
}

/** Returns a BCP 47 tag. @param {Element} element */
function findTag(element) {
  return inheritedLanguage(element) || navigator.language
}

/** @param {string} tag @returns {string} for example `pt`, or '' if the tag is not valid */
function languageCode(tag) {
  return /^[a-z]+\b/i.exec(tag)?.[0].toLowerCase() ?? ''
}

/** @param {Element} element @returns {string | null} */
function inheritedLanguage(element) {
  const nearest = element.closest('[lang]')
  if (nearest) return nearest.getAttribute('lang')
  const root = element.getRootNode()
  return root instanceof ShadowRoot ? inheritedLanguage(root.host) : null
}
