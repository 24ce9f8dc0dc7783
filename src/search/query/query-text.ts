// Reads the text of a query: normalises it, and finds words, sizes and codes.
import { replaceSizes } from '../../text/sizes-with-units.ts'
import { isSeparatedCode } from '../../text/sku-and-hs-codes.ts'
import { type HighlightTerms, toHighlightTerms } from '../highlights.ts'
import type { SearchRequest } from '../schema.ts'
import { checkQueryLength, maxWords } from './query-length.ts'

export type ParsedQuery = {
  request: SearchRequest
  /** The text for the engine: without operators, and with sizes in their indexed form. */
  text: string
  words: string[]
  /** Whether the query is only a code. Codes are exact, so an unknown code finds nothing. */
  isCode: boolean
  highlightTerms: HighlightTerms
}

/**
 * Returns `q` trimmed, in NFC, and with blanks instead of control characters. Throws an
 * `invalid_parameter` problem if it is too long.
 */
export function normalizeQueryText(q: string): string {
  const text = q.toWellFormed().normalize('NFC').trim()
  checkQueryLength(text)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are replaced here.
  return text.replace(/[\u0000-\u001f\u007f]/g, ' ').trim()
}

export function parseQuery(request: SearchRequest): ParsedQuery {
  const { text, forms: sizes } = replaceSizes(removeEngineOperators(request.text))
  return {
    request,
    text,
    words: splitIntoWords(text),
    isCode: isSeparatedCode(request.text),
    highlightTerms: toHighlightTerms(request.text, sizes),
  }
}

/**
 * Whether the text has only punctuation, mathematical signs, accents and blanks. The engine would
 * treat such a text as an empty query, which matches everything.
 */
export function isOnlyPunctuation(text: string): boolean {
  return /^[\p{P}\p{Sm}\p{Sk}\p{Z}\p{C}]+$/u.test(text)
}

/** Returns the first ten different words in lower case. "1/2" and "2.5" are words. */
export function splitIntoWords(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+(?:[./][\p{N}]+)*/gu) ?? []
  return [...new Set(words)].slice(0, maxWords)
}

/**
 * Removes what the engine would read as an operator: quotes (phrases), except inch marks after a
 * number, and leading minus signs (exclusion). Nobody who searches as they type means either.
 */
function removeEngineOperators(text: string): string {
  return text.replace(/(?<!\d\s?)["“”«»]/g, ' ').replace(/(^|\s)-+/g, '$1')
}
