// Lists the subqueries that a relaxed query may need: for single words, pairs and triples of words,
// and translations.
import { foldText } from '../../text/accent-folding.ts'
import type { SynonymMap } from '../../words/synonym-map.ts'
import { isRare, isUnknown, type QueryWord } from './query-words.ts'
import { quote, type Subquery } from './subqueries.ts'

// These numbers bound what a query of ten words costs. docs/measurements.md has what each gains.

/** The number of hits requested for each subquery. More hits cost the engine more. */
const subqueryHits = 15
/**
 * The number of hits requested for each word of a query of two. It is higher, because these are its
 * only subqueries besides translations: the pair is the query itself.
 */
const hitsPerWordOfTwo = 40
/** Pairs of known words that are further apart are not requested. */
const maxPairDistance = 4
/**
 * At most this many triples of words are requested. A query needs them only if many products have
 * each pair of its words (test/search/relevance.test.ts).
 */
const maxTriples = 10
/** At most this many translated words and this many translated pairs are requested. */
const maxTranslations = 8

/** A subquery for one or two words, in their order in the query. */
export type WordSubquery = Subquery & {
  words: [only: QueryWord] | [earlier: QueryWord, later: QueryWord]
}

const toSubquery = (
  text: string,
  { isLastWordQuoted }: { isLastWordQuoted: boolean },
): Subquery => ({
  text,
  limit: subqueryHits,
  isLastWordQuoted,
})

/** Returns a subquery for each word. */
export function listSingleWords(words: QueryWord[]): WordSubquery[] {
  const limit = words.length === 2 ? hitsPerWordOfTwo : subqueryHits
  return words.map((word) => ({ words: [word], text: word.text, limit, isLastWordQuoted: false }))
}

/**
 * Returns the pairs of words, except those of words that are far apart and both known. A query has
 * at most ten words, and so at most 45 pairs. Returns nothing for one word. For two words, returns
 * each of them instead of their pair, because the pair is the whole query, which was requested
 * first.
 *
 * For example, the query is `tornillo inoxidabel cabeza avellanada`, and all words but `inoxidabel`
 * are frequent. Its pairs are the following. The engine searches words in quotes as typed, and
 * others also with typos (shouldQuote).
 *
 *     "tornillo" inoxidabel     "tornillo" "cabeza"         "tornillo" "avellanada"
 *     "cabeza" inoxidabel       "avellanada" inoxidabel     "cabeza" avellanada
 */
export function listPairsOrWords(words: QueryWord[], synonyms: SynonymMap): WordSubquery[] {
  if (words.length === 2) return listSingleWords(words)
  return combineWords(words)
    .filter(
      ([earlier, later]) =>
        later.position - earlier.position <= maxPairDistance ||
        isUnknown(earlier) ||
        isUnknown(later),
    )
    .map((pair) => ({ words: pair, ...toPair(pair, synonyms) }))
}

/** Returns the subquery for two words. */
function toPair([earlier, later]: WordPair, synonyms: SynonymMap): Subquery {
  const isAdjacent = later.position - earlier.position === 1
  if (isAdjacent && synonyms.has(`${foldText(earlier.text)} ${foldText(later.text)}`))
    return toSubquery(`${earlier.text} ${later.text}`, { isLastWordQuoted: false })
  // An unknown word may be incomplete. It is sent last, because the engine completes only the last.
  const isReversed = isUnknown(earlier) && !isUnknown(later)
  const [sentFirst, sentLast] = isReversed ? [later, earlier] : [earlier, later]
  const quoteIfWanted = (word: QueryWord) =>
    shouldQuote(word, isAdjacent) ? quote(word.text) : word.text
  return toSubquery(`${quoteIfWanted(sentFirst)} ${quoteIfWanted(sentLast)}`, {
    isLastWordQuoted: shouldQuote(sentLast, isAdjacent),
  })
}

/**
 * Whether a word of a pair is quoted. Then the engine searches it as typed, which costs less.
 * - An unknown word is never quoted, because it may have a typo.
 * - A known word is always quoted if the words of the pair are not neighbours in the query.
 * - A known word of neighbours is quoted only if it is not last and not rare, and has no synonyms.
 */
function shouldQuote(word: QueryWord, isAdjacent: boolean): boolean {
  if (isUnknown(word)) return false
  return !isAdjacent || (!word.isLast && !isRare(word) && word.synonyms.length === 0)
}

/** Returns the triples of words of which every pair is accepted by `isWanted`. */
export function listTriples(
  words: QueryWord[],
  isWanted: (earlier: QueryWord, later: QueryWord) => boolean,
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
  return triples.slice(0, maxTriples).map((text) => toSubquery(text, { isLastWordQuoted: true }))
}

/**
 * Returns the whole query translated, the translated words, and their pairs with every other word.
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
    (text) => toSubquery(text, { isLastWordQuoted: false }),
  )
}

type WordPair = [earlier: QueryWord, later: QueryWord]

/** Returns every two words in their order. */
function combineWords(words: QueryWord[]): WordPair[] {
  return words.flatMap((earlier) =>
    words.slice(earlier.position + 1).map((later): WordPair => [earlier, later]),
  )
}
