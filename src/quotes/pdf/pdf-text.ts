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
 * offer a PDF. The legal texts in other languages are not checked.
 *
 * Most documents contain only common characters, which one expression finds. Preparing and checking
 * each character took two thirds of the time of a page.
 */
export function canShowInPdf(documentJson: string): boolean {
  if (!uncommonCharacters.test(documentJson)) return true
  const { legalTranslations: _, ...document } = JSON.parse(documentJson) as QuoteDocument
  return findUnsupportedCharacters(serializeForPdf(document)).length === 0
}

// These choose between a colourful and a plain form of a symbol. The fonts have only one form.
const variationSelectors = /[\ufe00-\ufe0f]/g

// The fields of the view model that are no texts: the addresses of links and the path of a QR code.
const notShownAsText = new Set(['href', 'path'])

/** Returns values as JSON, with every text prepared to be typeset. */
export function serializeForPdf(values: object): string {
  return JSON.stringify(values, (name, value: unknown) =>
    typeof value === 'string' && !notShownAsText.has(name) ? prepareText(value) : value,
  )
}

/** Returns a text to be typeset: also makes long words breakable and marks the direction. */
export function prepareText(text: string): string {
  const words = replaceArabicLigatures(prepareMetadata(text)).replace(longWords, allowBreaks)
  return markRightToLeftLines(words)
}

/** Returns a text for the metadata of the PDF: removes control characters and composes accents. */
export function prepareMetadata(text: string): string {
  return toPlainText(text).normalize('NFC').replace(variationSelectors, '')
}

// Words of at least 16 characters without a soft hyphen or a zero-width space.
const longWords = /[^\s\u00ad\u200b]{16,}/gu

/** Puts zero-width spaces between the characters, because Typst does not break long words. */
function allowBreaks(word: string): string {
  return [...word].join('\u200b')
}
