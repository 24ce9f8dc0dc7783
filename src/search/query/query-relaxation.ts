// Relaxes a query that no product satisfies: finds products that contain some of its words, and
// ranks them by the weight of these words. Rarer words weigh more.
import type {
  EngineHit,
  EngineQuery,
  EngineResult,
  SearchEngine,
} from '../../search-engine/search-client.ts'
import { stopWords } from '../../text/stop-words.ts'
import { translateWord } from '../../text/word-translations.ts'
import { splitIntoWords } from './query-text.ts'

/** The number of hits requested for the whole text. */
const wholeTextHits = 50
/** The number of hits requested for each subquery. */
const subqueryHits = 15
/** At most this many translations of single words are requested, and as many of pairs. */
const maxTranslations = 8
/** Up to this many words, every pair of words is requested. With more, only adjacent words are. */
const maxWordsForAllPairs = 4
/** Reciprocal rank fusion: score = Σ 1 / (60 + rank) (Cormack, Clarke and Büttcher 2009). */
const fusionK = 60
/** An assumed size of the catalogue for the weights of words, of which only the order matters. */
const catalogueSize = 100_000

/**
 * Whether a hit lacks a word that is not a stop word. False if the engine reported no score
 * details, which are requested for several words only: with one word, every hit contains it.
 */
export function missesWords(hit: EngineHit, words: string[]): boolean {
  const matched = hit._rankingScoreDetails?.words
  if (!matched) return false
  const stopWordCount = words.filter((word) => stopWords.has(word)).length
  return matched.maxMatchingWords - matched.matchingWords > stopWordCount
}

/** Whether a relaxed query can find more: there are several words, or a word has a translation. */
export function canRelax(words: string[]): boolean {
  return words.length > 1 || words.some(hasTranslation)
}

/** A query for some of the words. Its hits count as products that contain `words`. */
type Subquery = { q: string; words: string[]; translatedWords: string[] }

/**
 * Sends one request for every word, its translations and pairs of words. Returns the products by
 * the weight of the words that they contain, then by reciprocal rank fusion of the engine's
 * rankings. The list depends on the words and filters only, so pages are consistent and the length
 * of the list is the total. Throws if the engine does not answer or `signal` aborts.
 */
export async function searchRelaxed(
  engine: SearchEngine,
  base: Omit<EngineQuery, 'limit'>,
  signal: AbortSignal,
): Promise<EngineHit[]> {
  const words = withoutStopWords(splitIntoWords(base.q))
  const subqueries = planSubqueries(words)
  const wholeText: EngineQuery = {
    ...base,
    limit: wholeTextHits,
    matchingStrategy: 'frequency',
  }
  const queries = subqueries.map(
    ({ q }): EngineQuery => ({
      ...base,
      q,
      limit: subqueryHits,
      matchingStrategy: 'all',
      showRankingScoreDetails: true,
    }),
  )
  const [wholeTextResult, ...results] = await engine.search([wholeText, ...queries], signal)
  const answered = dropUnneededTranslations(
    words,
    subqueries.map((subquery, index) => ({ ...subquery, result: results[index] ?? noHits })),
  )
  if (wholeTextResult)
    answered.push({ q: base.q, words: [], translatedWords: [], result: wholeTextResult })
  return rankByWords(words, answered)
}

type AnsweredSubquery = Subquery & { result: EngineResult }

const noHits: EngineResult = { hits: [], estimatedTotalHits: 0 }

/** Leaves out stop words, unless all words are stop words. */
function withoutStopWords(words: string[]): string[] {
  const significant = words.filter((word) => !stopWords.has(word))
  return significant.length > 0 ? significant : words
}

/** Plans the subqueries. The first ones are the single words, in their order. */
function planSubqueries(words: string[]): Subquery[] {
  const singleWords = words.map((word) => ({ q: word, words: [word], translatedWords: [] }))
  const translations = words.flatMap((word) =>
    translateWord(word).map((q) => ({ q, words: [word], translatedWords: [word] })),
  )
  const pairs = pairWords(words).map((pair) => ({
    q: pair.join(' '),
    words: pair,
    translatedWords: [],
  }))
  return [
    ...singleWords,
    ...translations.slice(0, maxTranslations),
    ...pairs,
    ...translatePhrases(words),
  ]
}

function pairWords(words: string[]): string[][] {
  const maxDistance = words.length <= maxWordsForAllPairs ? words.length : 1
  return words.flatMap((word, index) =>
    words.slice(index + 1, index + 1 + maxDistance).map((other) => [word, other]),
  )
}

/**
 * Translates all words together, and adjacent pairs of the words that have a translation. Words
 * without a translation, such as brands, stay as they are.
 */
function translatePhrases(words: string[]): Subquery[] {
  const translatable = words.filter(hasTranslation)
  if (translatable.length === 0 || words.length === 1) return []
  const translate = (phrase: string[]): Subquery => ({
    q: phrase.map((word) => translateWord(word)[0] ?? word).join(' '),
    words: phrase,
    translatedWords: phrase.filter((word) => translatable.includes(word)),
  })
  const pairs = translatable.slice(1).map((word, index) => [translatable[index] ?? word, word])
  // With two words that both have a translation, the only pair is the whole phrase.
  const isPhraseAPair = words.length === 2 && translatable.length === 2
  return [
    ...(isPhraseAPair ? [] : [translate(words)]),
    ...pairs.slice(0, maxTranslations).map(translate),
  ]
}

function hasTranslation(word: string): boolean {
  return translateWord(word).length > 0
}

/** Translations count only for words that no product contains, or contains only with typos. */
function dropUnneededTranslations(
  words: string[],
  subqueries: AnsweredSubquery[],
): AnsweredSubquery[] {
  // The first subqueries are the single words.
  const foundWords = new Set(words.filter((_word, index) => hasExactHit(subqueries[index])))
  return subqueries.filter(
    ({ translatedWords }) => !translatedWords.some((word) => foundWords.has(word)),
  )
}

function hasExactHit(subquery: AnsweredSubquery | undefined): boolean {
  return subquery?.result.hits[0]?._rankingScoreDetails?.typo?.typoCount === 0
}

type RankedHit = {
  /** The hit of the subquery with the most words, because its highlights cover the most. */
  hit: EngineHit
  subqueryWordCount: number
  words: Set<string>
  fusionScore: number
}

function rankByWords(words: string[], subqueries: AnsweredSubquery[]): EngineHit[] {
  const weights = weighWords(words, subqueries)
  const sumWeights = (containedWords: Set<string>) =>
    [...containedWords].reduce((sum, word) => sum + (weights.get(word) ?? 0), 0)
  return [...mergeHits(subqueries).values()]
    .map((ranked) => ({ ...ranked, weight: sumWeights(ranked.words) }))
    .toSorted((a, b) => b.weight - a.weight || b.fusionScore - a.fusionScore)
    .map(({ hit }) => hit)
}

/** Weighs each word by its rarity: log(1 + size of the catalogue / products with the word). */
function weighWords(words: string[], subqueries: AnsweredSubquery[]): Map<string, number> {
  const totals = new Map<string, number>()
  for (const { words: queriedWords, result } of subqueries) {
    const [word] = queriedWords
    if (queriedWords.length === 1 && word !== undefined)
      totals.set(word, (totals.get(word) ?? 0) + result.estimatedTotalHits)
  }
  return new Map(
    words.map((word) => [word, Math.log(1 + catalogueSize / (totals.get(word) || catalogueSize))]),
  )
}

/** Merges the hits of all subqueries. Returns them by the id of the product. */
function mergeHits(subqueries: AnsweredSubquery[]): Map<string, RankedHit> {
  const byId = new Map<string, RankedHit>()
  for (const { words, result } of subqueries) {
    for (const [rank, hit] of result.hits.entries()) {
      const ranked = byId.get(hit.id) ?? {
        hit,
        subqueryWordCount: words.length,
        words: new Set<string>(),
        fusionScore: 0,
      }
      if (words.length > ranked.subqueryWordCount)
        Object.assign(ranked, { hit, subqueryWordCount: words.length })
      for (const word of words) ranked.words.add(word)
      ranked.fusionScore += 1 / (fusionK + rank)
      byId.set(hit.id, ranked)
    }
  }
  return byId
}
