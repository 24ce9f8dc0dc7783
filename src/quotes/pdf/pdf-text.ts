// Prepares the texts of a quote for the PDF, and finds quotes whose texts no PDF can show.
import { readdirSync, readFileSync } from 'node:fs'
import createBidi, { type Bidi } from 'bidi-js'
import { toPlainText } from '../formats.ts'
import type { QuoteDocument } from '../schema.ts'
import { createUnsupportedCharacterFinder } from './font-coverage.ts'

const fonts = new URL('fonts/', import.meta.url)

export function readFonts(): Buffer[] {
  return readdirSync(fonts)
    .filter((name) => name.endsWith('.ttf'))
    .sort()
    .map((name) => readFileSync(new URL(name, fonts)))
}

// Several emoji that are drawn as one, such as a family. The font has only single ones.
const emojiSequence = /\p{Extended_Pictographic}\u200d/u
const zeroWidthJoiner = '\u200d'

let findUnsupported: ((text: string) => string[]) | undefined

// Matches all except common letters, punctuation and currencies. The fonts have these, and they
// need no preparation. Most quotes have no others, so the tables of all characters are seldom read.
const uncommonCharacters =
  /[^ -~\u00a0-\u02ff\u0391-\u03a1\u03a3-\u0482\u200b\u2010-\u2027\u20a0-\u20bf]/gu

const isUncommon = (text: string) => text.search(uncommonCharacters) >= 0

/** Returns the characters of prepared text that the PDF cannot show or would store wrongly. */
export function findUnsupportedCharacters(preparedText: string): string[] {
  const uncommon = preparedText.match(uncommonCharacters)
  if (!uncommon) return []
  // Reading the fonts takes 25 ms.
  findUnsupported ??= createUnsupportedCharacterFinder(readFonts())
  const joiner = emojiSequence.test(preparedText) ? [zeroWidthJoiner] : []
  return [...findUnsupported(uncommon.join('')), ...joiner]
}

/** Returns the characters of a text as it was typed that no PDF can show. */
export function findUnprintable(text: string): string[] {
  return findUnsupportedCharacters(prepareText(text))
}

/**
 * Returns the characters of a document that no PDF can show. If there are any, the page of the
 * quote offers no PDF. The legal texts in other languages are not checked.
 */
export function findUnprintableInDocument(documentJson: string): string[] {
  // An escape may stand for any character. Preparing takes two thirds of the time of a page.
  if (!isUncommon(documentJson) && !documentJson.includes('\\u')) return []
  const { legalTranslations: _, ...document } = JSON.parse(documentJson) as QuoteDocument
  return findUnsupportedCharacters(serializeForPdf(document))
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
  if (!isUncommon(text)) return text.replace(longWords, allowBreaks)
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

// Typst would write two characters of a ligature into the text layer of the PDF, and programs that
// extract the text would swap them.
const ligatures: Record<string, { isolated: string; final: string }> = {
  لآ: { isolated: '\ufef5', final: '\ufef6' },
  لأ: { isolated: '\ufef7', final: '\ufef8' },
  لإ: { isolated: '\ufef9', final: '\ufefa' },
  لا: { isolated: '\ufefb', final: '\ufefc' },
}

// The letter before the ligature decides its form. These letters do not join the next one.
const notJoining = 'ءآأؤإاةدذرزوٱڈڑژۀۃۋ'
const lamAlef = /([\u0620-\u064a\u066e-\u06d3])?(ل[آأإا])/gu
/**
 * Returns the text with the compatibility character of each ligature, which NFKC turns into the two
 * letters again. A zero-width joiner keeps the form of the letter before it.
 */
function replaceArabicLigatures(text: string): string {
  return text.replace(lamAlef, (_match, before: string | undefined, letters: string) => {
    const { isolated = letters, final = letters } = ligatures[letters] ?? {}
    if (before === undefined) return isolated
    return notJoining.includes(before) ? before + isolated : `${before}${zeroWidthJoiner}${final}`
  })
}

// The types of the package describe an ES module, but Node loads its CommonJS module.
const bidi = (createBidi as unknown as () => Bidi)()

// RIGHT-TO-LEFT ISOLATE, POP DIRECTIONAL ISOLATE and LEFT-TO-RIGHT ISOLATE. No text of a quote
// contains them, because toPlainText removes them. pdf-template.typ replaces them.
const rightToLeftStart = '\u2067'
const rightToLeftEnd = '\u2069'
const bracketMark = '\u2066'

// The ranges of all right-to-left scripts. Other texts need no search in the library's tables.
const mayBeRightToLeft =
  /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/**
 * Returns the text with isolates around each line that is written from right to left, and a mark
 * before each mirrored bracket.
 */
function markRightToLeftLines(text: string): string {
  if (!mayBeRightToLeft.test(text)) return text
  return text.replace(/[^\r\n]+/g, (line) =>
    isRightToLeft(line)
      ? rightToLeftStart + markBrackets(line, 'rtl') + rightToLeftEnd
      : markBrackets(line, 'ltr'),
  )
}

export function hasDirectionMarks(text: string): boolean {
  return text.includes(rightToLeftStart) || text.includes(bracketMark)
}

/** Returns whether the first strong character is right-to-left (UAX 9, rules P2 and P3). */
export function isRightToLeft(line: string): boolean {
  for (const character of line) {
    // bidi-js takes emoji that are newer than its table for letters.
    if (/[\u{1f300}-\u{1faff}]/u.test(character)) continue
    const type = bidi.getBidiCharTypeName(character)
    if (type === 'L') return false
    if (type === 'R' || type === 'AL') return true
  }
  return false
}

/**
 * Puts a mark before each mirrored bracket, and the template sets marked brackets in another font.
 * A mirrored "(" has the glyph of ")", and Typst stores only one text for each glyph of a font.
 * Without the other font, brackets elsewhere in the PDF would have the wrong text.
 */
function markBrackets(line: string, direction: 'ltr' | 'rtl'): string {
  const { levels } = bidi.getEmbeddingLevels(line, direction)
  return line.replace(/[\p{P}\p{S}]/gu, (character, index: number) =>
    (levels[index] ?? 0) % 2 === 1 && bidi.getMirroredCharacter(character) !== null
      ? bracketMark + character
      : character,
  )
}
