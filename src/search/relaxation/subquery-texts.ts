// Writes the texts of the subqueries of a relaxed query: pairs and triples of words, and
// translations.
import { foldText } from '../../text/accent-folding.ts'
import type { SynonymMap } from '../../words/synonym-map.ts'
import { isRare, isUnknown, type QueryWord } from './query-words.ts'
import { quote } from './subqueries.ts'

// These numbers bound what a query of ten words costs. Higher ones find nothing more
// (docs/measurements.md).

/**
 * Pairs of known words that are further apart are not requested. NDCG@10 of words that stand apart
 * .614 with 3, .643 with 4 and with all pairs.
 */
const maxPairDistance = 4
/**
 * At most this many triples of words are requested. Known items rank the same with 0 and with 120:
 * only a query of which every pair is frequent needs them (test/search/relevance.test.ts).
 */
const maxTriples = 10
/**
 * At most this many translated words and this many translated pairs are requested. NDCG@10 of
 * English queries .529 with 0, .733 with 3, .741 with 8 and with all.
 */
const maxTranslations = 8

/** Two words of a query, and the text that finds products with both. */
export type WordPair = { word: QueryWord; other: QueryWord; text: string }

/**
 * Returns the pairs of words, except those of words that are far apart and both known. A query has
 * at most ten words, and so at most 45 pairs.
 */
export function listPairs(words: QueryWord[], synonyms: SynonymMap): WordPair[] {
  return combineWords(words)
    .filter(
      ([word, other]) =>
        other.position - word.position <= maxPairDistance || isUnknown(word) || isUnknown(other),
    )
    .map(([word, other]) => ({ word, other, text: toPairText(word, other, synonyms) }))
}

/** `word` must come before `other` in the query. */
function toPairText(word: QueryWord, other: QueryWord, synonyms: SynonymMap): string {
  const isAdjacent = other.position - word.position === 1
  if (isAdjacent && synonyms.has(`${foldText(word.text)} ${foldText(other.text)}`))
    return `${word.text} ${other.text}`
  // The engine completes only the last word. A word that no product contains may be incomplete.
  const ordered = isUnknown(word) && !isUnknown(other) ? [other, word] : [word, other]
  return ordered.map((each) => (isExact(each, isAdjacent) ? quote(each.text) : each.text)).join(' ')
}

/** Whether a word is searched as typed. Typos, synonyms and endings cost more. */
function isExact(word: QueryWord, isAdjacent: boolean): boolean {
  if (isUnknown(word)) return false
  return !isAdjacent || (!word.isLast && !isRare(word) && word.synonyms.length === 0)
}

/** Returns the texts for the triples of words of which every pair is accepted by `isWanted`. */
export function listTriples(
  words: QueryWord[],
  isWanted: (word: QueryWord, other: QueryWord) => boolean,
): string[] {
  // The only triple of three words is the whole query, which was requested first.
  if (words.length <= 3) return []
  const triples = combineWords(words).flatMap(([first, second]) =>
    words
      .slice(second.position + 1)
      .filter(
        (third) => isWanted(first, second) && isWanted(first, third) && isWanted(second, third),
      )
      .map((third) => quote(first.text, second.text, third.text)),
  )
  return triples.slice(0, maxTriples)
}

/**
 * Returns the translated words, their pairs with every other word, and the whole query translated.
 * Words without a translation, such as brands, stay as they are.
 */
export function listTranslations(words: QueryWord[]): string[] {
  const single = [...new Set(words.flatMap(({ translations }) => translations))]
  if (single.length === 0) return []
  const translate = ({ text, translations }: QueryWord) => translations[0] ?? text
  const pairs = combineWords(words)
    .filter((pair) => pair.some(({ translations }) => translations.length > 0))
    .map((pair) => pair.map(translate).join(' '))
  const whole = words.length > 2 ? [words.map(translate).join(' ')] : []
  return [...whole, ...single.slice(0, maxTranslations), ...pairs.slice(0, maxTranslations)]
}

/** Returns every two words in their order. */
function combineWords(words: QueryWord[]): [word: QueryWord, other: QueryWord][] {
  return words.flatMap((word) =>
    words.slice(word.position + 1).map((other): [QueryWord, QueryWord] => [word, other]),
  )
}
