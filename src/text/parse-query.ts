// Parses the text of a query once: its words, codes and sizes, and what to highlight. The search in
// the engine and the search in PostgreSQL use only the result.
import { builtInWords, type SearchWords } from '../words/search-words.ts'
import type { SynonymMap } from '../words/synonym-map.ts'
import { maxPhraseWords, toWordKey } from '../words/word-rules.ts'
import { foldText } from './accent-folding.ts'
import { findEnyeWords } from './enye-words.ts'
import { replaceSizes } from './sizes-with-units.ts'
import {
  isOnlyCode,
  toCodeKey,
  toDistinctSkuKey,
  toPartialCodeKey,
  toSkuKey,
} from './sku-and-hs-codes.ts'
import { stopWords } from './stop-words.ts'
import { translateWord } from './word-translations.ts'

/** The engine ignores words after the tenth. */
const maxWords = 10
const minHighlightedCodeLength = 2
/** Letters, combining accents and digits. */
const typedWordPattern = /[\p{L}\p{M}\p{N}]+/gu
/** As above, but "1/2" and "2.5" are one word each. */
const engineWordPattern = /[\p{L}\p{M}\p{N}]+(?:[./][\p{N}]+)*/gu

/** The comments of the fields show what `"Taladro" de 18 voltios` gives. */
export type ParsedQuery = {
  /** As typed, normalised: `"Taladro" de 18 voltios`. Empty: all products. */
  text: string
  engineText: EngineText
  /**
   * The typed words, folded, without those that the company ignores: taladro, de, 18, voltios. They
   * have letters and digits only, and none is empty, so they are safe in a tsquery and in a regular
   * expression.
   */
  foldedWords: string[]
  /** The words with ñ, folded except for ñ: none. */
  enyeWords: string[]
  code: CodeKeys
  /** The synonyms of the words and phrases of the query, folded. */
  synonyms: SynonymMap
  /** Translations of the significant words that have one, the likelier first: taladro → drill. */
  translations: ReadonlyMap<string, string[]>
  /** The SKUs that the company puts first for this query, in their order. */
  pinnedSkus: readonly string[]
  /**
   * Whether the text has only punctuation, symbols and blanks, and at least one of them. The engine
   * would treat it as an empty query.
   */
  isOnlySymbols: boolean
  highlight: HighlightTerms
}

/** What the search engine searches for. PostgreSQL searches for `foldedWords` instead. */
type EngineText = {
  /** The text without operators, and with sizes in their indexed form: ` Taladro  de 18v`. */
  text: string
  /** The first ten different words of this text, in lower case: taladro, de, 18v. */
  words: string[]
  /** These words without stop words, unless all are stop words: taladro, 18v. */
  significantWords: string[]
}

/** The keys by which the text is found if it is a code. The comments show those of `AB-742`. */
type CodeKeys = {
  /** The key of a SKU that equals the text, except for case and separators: ab742. */
  skuKey: string
  /** A key that distinguishes SKUs with the same `skuKey`, if many may have it; here undefined. */
  distinctSkuKey: string | undefined
  /** The folded key of a text that may be a code, or contain one: ab742. */
  partialCodeKey: string | undefined
  /** Whether the text is a code and nothing else. Codes are exact: an unknown one finds nothing. */
  isOnlyCode: boolean
}

/** The parts of a query that may be highlighted in a product. */
export type HighlightTerms = {
  /** Folded words: typed ones and their synonyms. Relaxed queries add the words of their hits. */
  words: Set<string>
  /** Keys of the text and of its words that may be part of a code. */
  codes: string[]
  /** Sizes in their indexed form. */
  sizes: string[]
}

/** Parses a normalised text: trimmed, NFC, without control characters. */
export function parseQuery(text: string, companyWords: SearchWords = builtInWords): ParsedQuery {
  const kept = removeIgnoredWords(text, companyWords.ignoredWords)
  const { text: textForEngine, forms: sizes } = replaceSizes(removeEngineOperators(kept))
  const words = splitIntoWords(textForEngine)
  const typed = kept.match(typedWordPattern) ?? []
  // Nothing is left of an accent that stands alone.
  const foldedWords = typed.map(foldText).filter((word) => word !== '')
  const synonyms = findSynonyms(foldedWords, companyWords.synonyms)
  const significantWords = withoutStopWords(words)
  return {
    text,
    engineText: { text: textForEngine, words, significantWords },
    foldedWords,
    enyeWords: findEnyeWords(kept),
    code: {
      skuKey: toSkuKey(text),
      distinctSkuKey: toDistinctSkuKey(text),
      partialCodeKey: toPartialCodeKey(text),
      isOnlyCode: isOnlyCode(text),
    },
    synonyms,
    translations: findTranslations(significantWords, companyWords.hiddenWords),
    pinnedSkus: companyWords.pins.get(toWordKey(text)) ?? [],
    isOnlySymbols: /^[\p{P}\p{Sm}\p{Sk}\p{Z}\p{C}]+$/u.test(text),
    highlight: {
      words: new Set([...foldedWords, ...[...synonyms.values()].flat().flatMap(splitPhrase)]),
      codes: [text, ...typed]
        .filter((code) => /\d/.test(code))
        .map(toCodeKey)
        .filter((code) => code.length >= minHighlightedCodeLength),
      sizes,
    },
  }
}

/** Removes the ignored words, unless nothing else is left. A code stays as it is. */
function removeIgnoredWords(text: string, ignored: ReadonlySet<string>): string {
  if (ignored.size === 0 || isOnlyCode(text)) return text
  const rest = text.replace(typedWordPattern, (word) => (ignored.has(foldText(word)) ? '' : word))
  return rest === text || rest.search(typedWordPattern) === -1
    ? text
    : rest.replace(/\s+/g, ' ').trim()
}

/** Returns the synonyms of the words, and of the phrases of words next to each other. */
function findSynonyms(words: string[], known: SynonymMap): SynonymMap {
  const found = new Map<string, readonly string[]>()
  for (let length = 1; length <= maxPhraseWords; length++) {
    for (let start = 0; start + length <= words.length; start++) {
      const phrase = words.slice(start, start + length).join(' ')
      const synonyms = known.get(phrase)
      if (synonyms) found.set(phrase, synonyms)
    }
  }
  return found
}

function findTranslations(words: string[], hidden: ReadonlySet<string>): Map<string, string[]> {
  return new Map(
    words
      .map((word) => [word, translateWord(word, hidden)] as const)
      .filter(([, list]) => list.length > 0),
  )
}

const splitPhrase = (phrase: string) => phrase.split(' ')

function splitIntoWords(text: string): string[] {
  const words = text.toLowerCase().match(engineWordPattern) ?? []
  return [...new Set(words)].slice(0, maxWords)
}

function withoutStopWords(words: string[]): string[] {
  const significant = words.filter((word) => !stopWords.has(word))
  return significant.length > 0 ? significant : words
}

/**
 * Removes what the engine would read as an operator: quotes (phrases), except inch marks after a
 * number, and leading minus signs (exclusion). People who search while they type mean neither.
 */
function removeEngineOperators(text: string): string {
  return text.replace(/(?<!\d\s?)["“”«»]/g, ' ').replace(/(^|\s)-+/g, '$1')
}
