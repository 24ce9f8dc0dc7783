// The words of a query that may be relaxed, and what is known about each of them.
import type { EngineHit } from '../../search-engine/search-client.ts'
import { foldText } from '../../text/accent-folding.ts'
import type { ParsedQuery } from '../../text/parse-query.ts'
import { stopWords } from '../../text/stop-words.ts'
import type { Subqueries } from './subqueries.ts'

/** A significant word of a query. */
export type QueryWord = {
  text: string
  /** Its position among the significant words, of which there are at most ten. */
  position: number
  /** Whether it is the last of all words, which may be unfinished. */
  isLast: boolean
  /** How many of the products that pass the filters of the request contain it as typed. */
  productCount: number
  /** Folded words and phrases. */
  synonyms: readonly string[]
  /** The translations, the likelier first. Only an unknown word has some. */
  translations: readonly string[]
}

/**
 * Whether no product that passes the filters contains a word as typed. The word may have typos, be
 * cut short or be foreign.
 */
export const isUnknown = ({ productCount }: QueryWord): boolean => productCount === 0

const minProductsOfFrequentWord = 8

/** Whether few products that pass the filters contain a word as typed. */
export const isRare = ({ productCount }: QueryWord): boolean =>
  productCount < minProductsOfFrequentWord

/**
 * Whether a relaxed query can find more products: it has several words, or a word has a
 * translation. False for a code, because codes are exact.
 */
export function canRelax({ engineText, translations, code }: ParsedQuery): boolean {
  return !code.isOnlyCode && (engineText.words.length > 1 || translations.size > 0)
}

/**
 * Whether a hit lacks a word that is not a stop word. False if the engine reported no score
 * details. They are not requested for a query of one word, because every hit contains that word.
 */
export function missesWords(hit: EngineHit, words: string[]): boolean {
  const matched = hit._rankingScoreDetails?.words
  if (!matched) return false
  const stopWordCount = words.filter((word) => stopWords.has(word)).length
  return matched.maxMatchingWords - matched.matchingWords > stopWordCount
}

/**
 * Returns the significant words of a query: at most ten, each once. Asks the engine how many
 * products contain each as typed. Throws an `EngineFailure` if it does not answer.
 */
export async function loadQueryWords(
  subqueries: Subqueries,
  { engineText, synonyms, translations }: ParsedQuery,
): Promise<QueryWord[]> {
  const counts = await subqueries.count(engineText.significantWords)
  return counts.map(({ text, productCount }, position) => ({
    text,
    position,
    // Every word is there once, so an equal text is the same word.
    isLast: text === engineText.words.at(-1),
    productCount,
    synonyms: synonyms.get(foldText(text)) ?? [],
    translations: (productCount === 0 && translations.get(text)) || [],
  }))
}
