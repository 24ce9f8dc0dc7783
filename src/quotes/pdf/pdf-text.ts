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

let findUnsupported: ((text: string) => string[]) | undefined

/** Returns the characters of prepared text that the PDF cannot show or would store wrongly. */
export function findUnsupportedCharacters(preparedText: string): string[] {
  // Reading the fonts takes 25 ms, and most processes get only texts with common characters.
  findUnsupported ??= createUnsupportedCharacterFinder(readFonts())
  return findUnsupported(preparedText)
}

// Matches all except common letters, punctuation and currencies. The fonts have these, and they
// need no preparation. The backslash is matched because an escape may stand for any character.
const uncommonCharacters =
  /[^ -~\u00a0-\u02ff\u0391-\u03a1\u03a3-\u0482\u2010-\u2027\u20a0-\u20bf]|\\u/

/**
 * Returns whether a PDF can show the texts of a document. Only then does the page of the quote
 * offer a PDF. The legal texts in other languages are not checked. `json` is the frozen document.
 *
 * Most documents contain only common characters, which one expression finds. Preparing and checking
 * each character took two thirds of the time of a page.
 */
export function canShowInPdf(json: string): boolean {
  if (!uncommonCharacters.test(json)) return true
  const { legalTranslations: _, ...document } = JSON.parse(json) as QuoteDocument
  return findUnsupportedCharacters(JSON.stringify(document, prepareText)).length === 0
}

// These choose between a colourful and a plain form of a symbol. The fonts have only one form.
const variationSelectors = /[\ufe00-\ufe0f]/g

/**
 * A replacer for JSON.stringify that prepares each text: removes control characters, composes
 * accents, makes long words breakable and marks the direction. Returns links and other values
 * unchanged. Metadata are not typeset, so their words are not made breakable.
 */
export function prepareText(name: string, value: unknown): unknown {
  if (typeof value !== 'string' || name === 'href' || name === 'path') return value
  const text = toPlainText(value).normalize('NFC').replace(variationSelectors, '')
  if (name.startsWith('metadata')) return text
  return markRightToLeftLines(replaceArabicLigatures(text).replace(longWords, allowBreaks))
}

// Words of at least 16 characters without a soft hyphen or a zero-width space.
const longWords = /[^\s\u00ad\u200b]{16,}/gu

/** Puts zero-width spaces between the characters, because Typst does not break long words. */
function allowBreaks(word: string): string {
  return [...word].join('\u200b')
}
