// Chooses the language of the palette: that of its element, an ancestor, or the document.
import { paletteTextsDe } from './palette-texts-de.js'
import { paletteTextsEn } from './palette-texts-en.js'
import { paletteTextsEs } from './palette-texts-es.js'
import { paletteTextsFr } from './palette-texts-fr.js'
import { paletteTextsIt } from './palette-texts-it.js'
import { paletteTextsPt } from './palette-texts-pt.js'

const textsByLanguage = new Map([
  ['es', paletteTextsEs],
  ['en', paletteTextsEn],
  ['pt', paletteTextsPt],
  ['fr', paletteTextsFr],
  ['it', paletteTextsIt],
  ['de', paletteTextsDe],
])

/**
 * Returns the language of an element and the texts in it, or English texts if there are none.
 * `language` is a BCP 47 tag for formatting prices, `textLanguage` the language of the texts.
 * @param {Element} element
 */
export function findLanguage(element) {
  const language = inheritedLanguage(element) || document.documentElement.lang || navigator.language
  const code = /^[a-z]+\b/i.exec(language)?.[0].toLowerCase() ?? ''
  const texts = textsByLanguage.get(code)
  return {
    language,
    texts: texts ?? paletteTextsEn,
    textLanguage: texts ? code : 'en',
  }
}

/** @param {Element} element */
function inheritedLanguage(element) {
  /** @type {Element | null} */
  let ancestor = element
  while (ancestor && !ancestor.hasAttribute('lang')) {
    const root = ancestor.getRootNode()
    ancestor = ancestor.parentElement ?? (root instanceof ShadowRoot ? root.host : null)
  }
  return ancestor?.getAttribute('lang')
}
