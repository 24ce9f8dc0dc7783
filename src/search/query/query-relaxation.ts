// Relaxes a query that no product satisfies: finds products that contain some of its words, and
// ranks them by the words that their own text contains. Rarer words weigh more.
import type {
  EngineHit,
  EngineQuery,
  EngineResult,
  SearchEngine,
} from '../../search-engine/search-client.ts'
import type { ParsedQuery } from '../../text/parse-query.ts'
import { stopWords } from '../../text/stop-words.ts'
import { translateWord } from '../../text/word-translations.ts'
import { TextSimilarity } from './text-similarity.ts'

/** A hit and the words of its text that match a word of the query, folded. */
export type RelaxedHit = { hit: EngineHit; listMatches(): string[] }

/** The number of hits requested for the whole text. */
const wholeTextHits = 50
/** The number of hits requested for each subquery. */
const subqueryHits = 15
/** With fewer hits, single words are requested too. */
const enoughHits = 5
/** At most this many translations are requested. */
const maxTranslations = 8
/** Up to this many words, every pair of words is requested. With more, only near words are. */
const maxWordsForAllPairs = 4
const maxPairDistance = 1
/** From this many words on, all words but one are requested too, for each word. */
const minWordsForLeavingOut = 4
/** Reciprocal rank fusion: score = Σ 1 / (60 + rank) (Cormack, Clarke and Büttcher 2009). */
const fusionK = 60
/** An assumed size of the catalogue for the weights of words, of which only the order matters. */
const catalogueSize = 100_000
/**
 * The weight of a word is a small power of its inverse frequency, so that two of three words count
 * more than the rarest one alone.
 */
const rarityExponent = 0.3

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

/**
 * Sends one request for the whole text, pairs of words, and all words but one. Sends another one
 * for translations if there are words that no product contains, and for single words if few
 * products contain two. Returns the products by the words that
 * they contain, then by reciprocal rank fusion of the engine's rankings. The list depends on the
 * words and filters only, so pages are consistent and the length of the list is the total. Throws
 * if the engine does not answer or `signal` aborts.
 */
export async function searchRelaxed(
  engine: SearchEngine,
  base: Omit<EngineQuery, 'limit'>,
  query: ParsedQuery,
  signal: AbortSignal,
): Promise<RelaxedHit[]> {
  const words = query.significantWords
  const phrases = planPhrases(words)
  const [wholeText, ...results] = await engine.search(
    [
      { ...base, limit: wholeTextHits, matchingStrategy: 'frequency' },
      ...words.map((q) => toWordQuery(base, q)),
      ...phrases.map((q) => toPhraseQuery(base, q)),
    ],
    signal,
  )
  const wordResults = results.slice(0, words.length)
  const lists = [wholeText ?? noHits, ...results.slice(words.length)]
  const translations = listTranslations(words, wordResults)
  const remaining = [
    ...translatePhrases(words, translations),
    ...(countHits(lists) < enoughHits ? words.filter((word) => !phrases.includes(word)) : []),
  ]
  if (remaining.length > 0) {
    const queries = remaining.map((q) => toPhraseQuery(base, q))
    lists.push(...(await engine.search(queries, signal)))
  }
  const similarity = new TextSimilarity(words, query.words.at(-1) ?? '', translations)
  return rankByOwnText(similarity, weighWords(wordResults), lists)
}

function countHits(lists: EngineResult[]): number {
  return new Set(lists.flatMap(({ hits }) => hits.map(({ id }) => id))).size
}

const noHits: EngineResult = { hits: [], estimatedTotalHits: 0 }

/**
 * How many products contain a word, and, if it has a translation, whether one contains it without a
 * typo.
 */
function toWordQuery(
  { indexUid, filter = [] }: Omit<EngineQuery, 'limit'>,
  q: string,
): EngineQuery {
  return {
    indexUid,
    q,
    filter,
    limit: hasTranslation(q) ? 1 : 0,
    matchingStrategy: 'all',
    attributesToRetrieve: ['id'],
    showRankingScoreDetails: true,
  }
}

function toPhraseQuery(base: Omit<EngineQuery, 'limit'>, q: string): EngineQuery {
  return { ...base, q, limit: subqueryHits, matchingStrategy: 'all' }
}

/** Returns the parts of the query that are requested besides the whole. */
function planPhrases(words: string[]): string[] {
  if (words.length <= 2) return words.length === 1 ? [] : words
  const maxDistance = words.length <= maxWordsForAllPairs ? words.length : maxPairDistance
  const pairs = words.flatMap((word, index) =>
    words.slice(index + 1, index + 1 + maxDistance).map((other) => `${word} ${other}`),
  )
  const withoutOne = words.map((left) => words.filter((word) => word !== left).join(' '))
  return words.length >= minWordsForLeavingOut ? [...pairs, ...withoutOne] : pairs
}

/** Returns the translations of words that no product contains without a typo. */
function listTranslations(words: string[], wordResults: EngineResult[]): Map<string, string[]> {
  const unknownWords = words.filter((_word, index) => !hasExactHit(wordResults[index]))
  return new Map(
    unknownWords
      .map((word) => [word, translateWord(word)] as const)
      .filter(([, list]) => list.length),
  )
}

function hasExactHit(result: EngineResult | undefined): boolean {
  return result?.hits[0]?._rankingScoreDetails?.typo?.typoCount === 0
}

/**
 * Returns the translated words, each with every other word, and the whole text with its words
 * translated. Words without a translation, such as brands, stay as they are.
 */
function translatePhrases(words: string[], translations: Map<string, string[]>): string[] {
  if (translations.size === 0) return []
  const translate = (word: string) => translations.get(word)?.[0] ?? word
  const single = [...translations.values()].flat()
  const pairs = words.flatMap((word, index) =>
    words
      .slice(index + 1)
      .filter((other) => translations.has(word) || translations.has(other))
      .map((other) => `${translate(word)} ${translate(other)}`),
  )
  const whole = words.length > 2 ? [words.map(translate).join(' ')] : []
  return [...whole, ...single.slice(0, maxTranslations), ...pairs.slice(0, maxTranslations)]
}

function hasTranslation(word: string): boolean {
  return translateWord(word).length > 0
}

/** Weighs each word by its rarity. */
function weighWords(wordResults: EngineResult[]): number[] {
  return wordResults.map(
    ({ estimatedTotalHits }) =>
      Math.log(1 + catalogueSize / Math.max(1, estimatedTotalHits)) ** rarityExponent,
  )
}

/** Orders the hits of all lists, without duplicates. */
function rankByOwnText(
  similarity: TextSimilarity,
  weights: number[],
  lists: EngineResult[],
): RelaxedHit[] {
  const fused = new Map<string, { hit: EngineHit; fusionScore: number }>()
  for (const { hits } of lists) {
    for (const [rank, hit] of hits.entries()) {
      const entry = fused.get(hit.id) ?? { hit, fusionScore: 0 }
      entry.fusionScore += 1 / (fusionK + rank)
      fused.set(hit.id, entry)
    }
  }
  return [...fused.values()]
    .map(({ hit, fusionScore }) => {
      const qualities = similarity.compare(hit)
      const score = qualities.reduce(
        (sum, quality, word) => sum + quality * (weights[word] ?? 0),
        0,
      )
      return { hit, fusionScore, score }
    })
    .toSorted((a, b) => b.score - a.score || b.fusionScore - a.fusionScore)
    .map(({ hit }) => ({ hit, listMatches: () => similarity.listMatches(hit) }))
}
