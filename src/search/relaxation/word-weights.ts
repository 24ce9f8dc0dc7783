// Weighs the words of a relaxed query: how much a match of each counts in the ranking of hits.
import { isUnknown, type QueryWord } from './query-words.ts'
import type { Subqueries } from './subqueries.ts'

/**
 * An assumed size of the catalogue. It affects how much rare words weigh, not their order. Chosen,
 * not measured.
 */
const catalogueSize = 100_000
/**
 * The weight of a word is a small power of its inverse frequency, so that two of three words
 * together count more than the rarest one alone. The power is chosen. Whether the order of hits is
 * good is measured by scripts/bench/relevance.ts.
 */
const rarityExponent = 0.3

/**
 * Returns the weight of a word. Rarer words weigh more. An unknown word weighs by what its subquery
 * found with typos or as a prefix.
 */
export function weighWord(word: QueryWord, subqueries: Subqueries): number {
  const found = isUnknown(word)
    ? (subqueries.result(word.text)?.estimatedTotalHits ?? 0)
    : word.productCount
  return Math.log(1 + catalogueSize / Math.max(1, found)) ** rarityExponent
}
