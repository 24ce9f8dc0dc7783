// Reads the text of a request: its words and sizes, and whether it is a product code.
import { isSeparatedCode } from '../text/product-codes.ts'
import { replaceSizes } from '../text/sizes.ts'
import { type HighlightTerms, toHighlightTerms } from './highlights.ts'
import { queryWords, removeEngineOperators } from './query-text.ts'
import type { SearchRequest } from './schema.ts'

export type ParsedQuery = {
  request: SearchRequest
  /** The text for the engine: without operators, and with sizes in their indexed form. */
  text: string
  words: string[]
  /** Codes are exact: a code that no product has finds nothing, with or without separators. */
  isCode: boolean
  highlightTerms: HighlightTerms
}

export function parseQuery(request: SearchRequest): ParsedQuery {
  const { text, forms: sizes } = replaceSizes(removeEngineOperators(request.text))
  return {
    request,
    text,
    words: queryWords(text),
    isCode: isSeparatedCode(request.text),
    highlightTerms: toHighlightTerms(request.text, sizes),
  }
}
