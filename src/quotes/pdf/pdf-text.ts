// Prepares the texts of a quote for the PDF, and finds quotes whose texts no PDF can show.
import { readdirSync, readFileSync } from 'node:fs'
import type { QuoteDocument } from '../schema.ts'
import { toPlainText } from '../view-model/plain-text.ts'
import { replaceArabicLigatures } from './arabic-ligatures.ts'
import { createUnsupportedCharacterFinder } from './font-coverage.ts'
import { markRightToLeftLines } from './text-direction.ts'

const fonts = new URL('fonts/', import.meta.url)

/** Returns the fonts of the PDF. */
export function readFonts(): Buffer[] {
  return readdirSync(fonts)
    .filter((name) => name.endsWith('.ttf'))
    .sort()
    .map((name) => readFileSync(new URL(name, fonts)))
}

/** Returns the characters of prepared text that the PDF cannot show, or whose text it falsifies. */
export const findUnsupportedCharacters = createUnsupportedCharacterFinder(readFonts())

// All except common letters, punctuation and currencies, which the fonts have and which need no
// preparation. An escape may stand for any character.
const uncommonCharacters =
  /[^ -~\u00a0-\u02ff\u0391-\u03a1\u03a3-\u0482\u2010-\u2027\u20a0-\u20bf]|\\u/

/**
 * Returns whether a PDF can show the texts of a document, so that its page offers one. The legal
 * texts in other languages do not count. `json` is the frozen document.
 *
 * Most documents have common characters only. Preparing and checking each of their characters took
 * two thirds of the time of a page.
 */
export function canShowInPdf(json: string): boolean {
  if (!uncommonCharacters.test(json)) return true
  const { legalTranslations: _, ...document } = JSON.parse(json) as QuoteDocument
  return findUnsupportedCharacters(JSON.stringify(document, prepareText)).length === 0
}

// They choose between a colourful and a plain form of a symbol. The fonts have one form.
const variationSelectors = /[\ufe00-\ufe0f]/g

/**
 * Removes control characters from a text, composes its accents, makes its long words breakable and
 * marks its direction. The parameters are those of a JSON.stringify replacer. Other values and
 * links are returned unchanged. Metadata are not typeset, so their words stay whole.
 */
export function prepareText(name: string, value: unknown): unknown {
  if (typeof value !== 'string' || name === 'href' || name === 'path') return value
  const text = toPlainText(value).normalize('NFC').replace(variationSelectors, '')
  if (name.startsWith('metadata')) return text
  return markRightToLeftLines(replaceArabicLigatures(text).replace(longWords, allowBreaks))
}

// Words of 16 characters and more without a soft hyphen or a zero-width space.
const longWords = /[^\s\u00ad\u200b]{16,}/gu

/** Puts zero-width spaces between the characters, because Typst does not break long words. */
function allowBreaks(word: string): string {
  return [...word].join('\u200b')
}
