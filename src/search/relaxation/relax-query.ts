// Relaxes a query that no product satisfies: finds products that contain some of its words.
import { defaultHits } from '../../search-engine/result-limits.ts'
import type { EngineHit } from '../../search-engine/search-client.ts'
import { foldText } from '../../text/accent-folding.ts'
import type { ParsedQuery } from '../../text/parse-query.ts'
import { stopWords } from '../../text/stop-words.ts'
import { rankByOwnText, weighWord } from './relaxed-ranking.ts'
import type { Subqueries } from './subqueries.ts'
import {
  type ClassifiedWords,
  listTranslations,
  listTriples,
  PairTexts,
  quote,
} from './subquery-texts.ts'
import { TextSimilarity } from './text-similarity.ts'

/** The number of hits requested for each subquery. */
const subqueryHits = 15
/** A query of two words has no smaller pairs: each word is requested, with this many hits. */
const hitsPerWordOfTwo = 40
/** If fewer products are found, single words are requested too. */
const enoughHits = defaultHits

/**
 * Whether a relaxed query can find more: there are several words, or a word has a translation.
 * False for a code, because codes are exact.
 */
export function canRelax({ searched, translations, code }: ParsedQuery): boolean {
  return !code.isOnlyCode && (searched.words.length > 1 || translations.size > 0)
}

/**
 * Whether a hit lacks a word that is not a stop word. False if the engine reported no score
 * details: they are requested only for several words, because every hit contains a single word.
 */
export function missesWords(hit: EngineHit, words: string[]): boolean {
  const matched = hit._rankingScoreDetails?.words
  if (!matched) return false
  const stopWordCount = words.filter((word) => stopWords.has(word)).length
  return matched.maxMatchingWords - matched.matchingWords > stopWordCount
}

/**
 * Returns for each word the number of products that contain it as typed. Throws if the engine does
 * not answer.
 */
export async function countTypedWords(
  subqueries: Subqueries,
  { searched }: ParsedQuery,
): Promise<Map<string, number>> {
  const { significantWords } = searched
  const counts = await subqueries.count(significantWords.map((word) => quote(word)))
  return new Map(significantWords.map((word, index) => [word, counts[index] ?? 0]))
}

/**
 * Finds products that contain some of the words of a query, in four steps:
 * 1. Divide the words into those that products contain as typed, and unknown ones. Unknown words
 *    may have typos, be cut short or be in the other language.
 * 2. Request each pair of words, the unknown words, and the translations.
 * 3. If few products were found, request single words too. If a pair has more products than were
 *    returned, request triples of words too.
 * 4. Rank all products that were found.
 *
 * `firstHits` has the best hits of the whole text, `wordCounts` is the result of countTypedWords.
 * Returns the products found, best first, and their similarity. They depend on the words and the
 * filters only, so pages are consistent and the number of hits is the total. Throws if the engine
 * does not answer.
 */
export async function relaxQuery(
  subqueries: Subqueries,
  query: ParsedQuery,
  firstHits: EngineHit[][],
  wordCounts: Map<string, number>,
): Promise<{ hits: EngineHit[]; similarity: TextSimilarity }> {
  const words = classifyWords(query, wordCounts)
  const pairs = new PairTexts(query, words)

  const pairHits = await requestPairs(subqueries, words, pairs)

  const isEnough = countProducts([...firstHits, ...pairHits]) >= enoughHits
  await requestMore(subqueries, words, pairs, isEnough)

  const similarity = createSimilarity(query, words)
  const lists = [...firstHits, ...subqueries.results().map(({ hits }) => hits)]
  return { hits: rankByOwnText(similarity, weighWords(subqueries, words), lists), similarity }
}

/** Step 1. */
function classifyWords(query: ParsedQuery, counts: Map<string, number>): ClassifiedWords {
  const all = query.searched.significantWords
  const countOf = (word: string) => counts.get(word) ?? 0
  const unknown = all.filter((word) => countOf(word) === 0)
  return {
    all,
    counts,
    rare: all.filter((word) => countOf(word) < enoughHits),
    unknown,
    translations: new Map([...query.translations].filter(([word]) => unknown.includes(word))),
  }
}

/** Step 2. Returns the hits of the pairs, or of each word if there are only two. */
async function requestPairs(
  subqueries: Subqueries,
  words: ClassifiedWords,
  pairs: PairTexts,
): Promise<EngineHit[][]> {
  const hasTwoWords = words.all.length === 2
  const mainTexts = hasTwoWords ? words.all : pairs.list()
  const otherTexts = [...words.unknown, ...listTranslations(words)]
  await subqueries.send([
    ...mainTexts.map((text) => ({ text, limit: hasTwoWords ? hitsPerWordOfTwo : subqueryHits })),
    ...otherTexts
      .filter((text) => !mainTexts.includes(text))
      .map((text) => ({ text, limit: subqueryHits })),
  ])
  return mainTexts.map((text) => subqueries.result(text)?.hits ?? [])
}

/** Step 3. Sends nothing if it is not needed. */
async function requestMore(
  subqueries: Subqueries,
  { all }: ClassifiedWords,
  pairs: PairTexts,
  isEnough: boolean,
): Promise<void> {
  // A product with three words may be missing from the results of its pairs if all were cut off.
  const isCutOff = (word: string, other: string) => {
    const result = subqueries.result(pairs.get(word, other))
    return result === undefined || result.estimatedTotalHits > result.hits.length
  }
  const texts = [...(isEnough ? [] : all), ...listTriples(all, isCutOff)]
  await subqueries.send(texts.map((text) => ({ text, limit: subqueryHits })))
}

function countProducts(lists: EngineHit[][]): number {
  return new Set(lists.flat().map(({ id }) => id)).size
}

/** Step 4: a word also matches its translations and synonyms. */
function createSimilarity(
  { searched, synonyms }: ParsedQuery,
  { all, unknown, translations }: ClassifiedWords,
): TextSimilarity {
  const equivalents = new Map(
    all.map((word) => [
      word,
      [...(translations.get(word) ?? []), ...(synonyms.get(foldText(word)) ?? [])],
    ]),
  )
  return new TextSimilarity({
    words: all,
    lastWord: searched.words.at(-1) ?? '',
    equivalents,
    unknownWords: unknown,
  })
}

/** Step 4: an unknown word weighs by the products that it found with typos or as a prefix. */
function weighWords(subqueries: Subqueries, { all, counts, unknown }: ClassifiedWords): number[] {
  return all.map((word) =>
    weighWord(
      unknown.includes(word) ? subqueries.result(word)?.estimatedTotalHits : counts.get(word),
    ),
  )
}
