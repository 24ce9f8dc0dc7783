// Lists the subqueries that a relaxed query may need: for single words, pairs and triples of words,
// and translations.
import { foldText } from '../../text/accent-folding.ts'
import type { SynonymMap } from '../../words/synonym-map.ts'
import { isRare, isUnknown, type QueryWord } from './query-words.ts'
import { quote, type Subquery } from './subqueries.ts'

// These numbers bound what a query of ten words costs. docs/measurements.md has what each gains.

/** The number of hits requested for each subquery. More hits cost the engine more. */
const subqueryHits = 15
/** The same for each word of two, because their only pair is the query itself. */
const hitsPerWordOfTwo = 40
/** Pairs of known words that are further apart are not requested. */
const maxPairDistance = 4
/**
 * At most this many triples of words are requested. Only a query of which every pair is frequent
 * needs them (test/search/relevance.test.ts).
 */
const maxTriples = 10
/** At most this many translated words and this many translated pairs are requested. */
const maxTranslations = 8

type WordSubquery = Subquery & { word: QueryWord }
export type PairSubquery = Subquery & { word: QueryWord; other: QueryWord }

const toSubquery = (text: string, { isFast }: { isFast: boolean }): Subquery => ({
  text,
  limit: subqueryHits,
  isFast,
})

/** Returns a subquery for each word. */
export function listSingleWords(words: QueryWord[]): WordSubquery[] {
  const limit = words.length === 2 ? hitsPerWordOfTwo : subqueryHits
  return words.map((word) => ({ word, text: word.text, limit, isFast: false }))
}

/**
 * Returns the pairs of words, except those of words that are far apart and both known. A query has
 * at most ten words, and so at most 45 pairs.
 */
export function listPairs(words: QueryWord[], synonyms: SynonymMap): PairSubquery[] {
  // The only pair of two words is the whole query, which was requested first.
  if (words.length <= 2) return []
  return combineWords(words)
    .filter(
      ([word, other]) =>
        other.position - word.position <= maxPairDistance || isUnknown(word) || isUnknown(other),
    )
    .map(([word, other]) => ({ word, other, ...toPair(word, other, synonyms) }))
}

/** `word` must come before `other` in the query. */
function toPair(word: QueryWord, other: QueryWord, synonyms: SynonymMap): Subquery {
  const isAdjacent = other.position - word.position === 1
  if (isAdjacent && synonyms.has(`${foldText(word.text)} ${foldText(other.text)}`))
    return toSubquery(`${word.text} ${other.text}`, { isFast: false })
  // The engine completes only the last word. A word that no product contains may be incomplete.
  const [first, last] = isUnknown(word) && !isUnknown(other) ? [other, word] : [word, other]
  const write = (each: QueryWord) => (isExact(each, isAdjacent) ? quote(each.text) : each.text)
  return toSubquery(`${write(first)} ${write(last)}`, { isFast: isExact(last, isAdjacent) })
}

/**
 * Whether a word is searched as typed. To bound the cost, a known word is searched inexactly only
 * beside its neighbour, and only if it is last, rare or has synonyms. An unknown word is always
 * searched inexactly.
 */
function isExact(word: QueryWord, isAdjacent: boolean): boolean {
  if (isUnknown(word)) return false
  return !isAdjacent || (!word.isLast && !isRare(word) && word.synonyms.length === 0)
}

/** Returns the triples of words of which every pair is accepted by `isWanted`. */
export function listTriples(
  words: QueryWord[],
  isWanted: (word: QueryWord, other: QueryWord) => boolean,
): Subquery[] {
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
  return triples.slice(0, maxTriples).map((text) => toSubquery(text, { isFast: true }))
}

/**
 * Returns the translated words, their pairs with every other word, and the whole query translated.
 * Words without a translation, such as brands, stay as they are.
 */
export function listTranslations(words: QueryWord[]): Subquery[] {
  const single = [...new Set(words.flatMap(({ translations }) => translations))]
  if (single.length === 0) return []
  const translate = ({ text, translations }: QueryWord) => translations[0] ?? text
  const pairs = combineWords(words)
    .filter((pair) => pair.some(({ translations }) => translations.length > 0))
    .map((pair) => pair.map(translate).join(' '))
  const whole = words.length > 2 ? [words.map(translate).join(' ')] : []
  return [...whole, ...single.slice(0, maxTranslations), ...pairs.slice(0, maxTranslations)].map(
    (text) => toSubquery(text, { isFast: false }),
  )
}

/** Returns every two words in their order. */
function combineWords(words: QueryWord[]): [word: QueryWord, other: QueryWord][] {
  return words.flatMap((word) =>
    words.slice(word.position + 1).map((other): [QueryWord, QueryWord] => [word, other]),
  )
}
