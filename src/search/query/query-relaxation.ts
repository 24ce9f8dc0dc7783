// Relaxes a query that no product satisfies: finds products that contain some of its words, and
// ranks them by the words that their own text contains. Rarer words weigh more.
import { defaultHits } from '../../search-engine/result-limits.ts'
import type {
  EngineHit,
  EngineQuery,
  EngineResult,
  SearchEngine,
} from '../../search-engine/search-client.ts'
import { foldText } from '../../text/accent-folding.ts'
import type { ParsedQuery } from '../../text/parse-query.ts'
import { stopWords } from '../../text/stop-words.ts'
import { TextSimilarity } from './text-similarity.ts'

/** A hit and the words of its text that match a word of the query, folded. */
export type RelaxedHit = { hit: EngineHit; listMatches(): string[] }

/** The number of hits requested for each subquery. */
const subqueryHits = 15
/** A query of two words has no smaller pairs: each word is requested, with this many hits. */
const hitsPerWordOfTwo = 40
/** If fewer products are found, single words are requested too. */
const enoughHits = defaultHits
/** At most this many translated words and this many translated pairs are requested. */
const maxTranslations = 8
/** Pairs of known words that are further apart are not requested. */
const maxPairDistance = 4
/** At most this many triples of words are requested. */
const maxTriples = 10
/** The subqueries are divided among this many requests, which the engine answers in parallel. */
const parallelRequests = 2
/** Reciprocal rank fusion: score = Σ 1 / (60 + rank) (Cormack, Clarke and Büttcher 2009). */
const fusionK = 60
/** An assumed size of the catalogue. It affects how much rare words weigh, not their order. */
const catalogueSize = 100_000
/**
 * The weight of a word is a small power of its inverse frequency, so that two of three words
 * together count more than the rarest one alone.
 */
const rarityExponent = 0.3

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
 * Whether a relaxed query can find more: there are several words, or a word has a translation.
 * False for a code, because codes are exact.
 */
export function canRelax({ words, translations, isCode }: ParsedQuery): boolean {
  return !isCode && (words.length > 1 || translations.size > 0)
}

/** For each word, the number of products that contain it as typed. */
export type WordCounts = Map<string, number>

/**
 * Asks how many products contain each word as typed. Throws if the engine does not answer or
 * `signal` aborts.
 */
export async function countTypedWords(
  engine: SearchEngine,
  base: Omit<EngineQuery, 'limit'>,
  { significantWords }: ParsedQuery,
  signal: AbortSignal,
): Promise<WordCounts> {
  const queries = significantWords.map((word) => toSubquery(base, quote(word), 0))
  const results = await engine.search(queries, signal)
  return new Map(
    significantWords.map((word, index) => [word, results[index]?.estimatedTotalHits ?? 0]),
  )
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
 * `wholeTextLists` has the best hits of the whole text, `wordCounts` is the result of
 * countTypedWords. Returns the products by the words that they contain, then by reciprocal rank
 * fusion of the engine's rankings. The list depends on the words and filters only, so pages are
 * consistent and the length of the list is the total. Throws if the engine does not answer or
 * `signal` aborts.
 */
export async function searchRelaxed(
  engine: SearchEngine,
  base: Omit<EngineQuery, 'limit'>,
  query: ParsedQuery,
  {
    wholeTextLists,
    wordCounts,
  }: { wholeTextLists: EngineResult[]; wordCounts: Promise<WordCounts> },
  signal: AbortSignal,
): Promise<RelaxedHit[]> {
  const words = classifyWords(query, await wordCounts)
  const subqueries = new Subqueries(engine, base, signal)
  const pairs = new PairQueries(query, words)
  const pairLists = await searchPairs(words, pairs, subqueries)
  const isEnough = countProducts([...wholeTextLists, ...pairLists]) >= enoughHits
  await searchMore(words, pairs, subqueries, isEnough)
  return rankProducts(query, words, subqueries, wholeTextLists)
}

/** The words of a query that are not stop words, and what is known about them. */
type ClassifiedWords = {
  all: string[]
  counts: WordCounts
  /** Few products contain them as typed. */
  rare: string[]
  /** No product contains them as typed. */
  unknown: string[]
  /** The translations of the unknown words. */
  translations: Map<string, string[]>
}

/** Step 1. */
function classifyWords(query: ParsedQuery, counts: WordCounts): ClassifiedWords {
  const all = query.significantWords
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

/** Step 2. Returns the results for the pairs, or for each word if there are only two. */
async function searchPairs(
  { all, unknown, translations }: ClassifiedWords,
  pairs: PairQueries,
  subqueries: Subqueries,
): Promise<EngineResult[]> {
  const isPair = all.length === 2
  const pairTexts = isPair ? all : pairs.list()
  const otherTexts = [...unknown, ...translatePhrases(all, translations)]
  await subqueries.send([
    ...pairTexts.map((text) => ({ text, limit: isPair ? hitsPerWordOfTwo : subqueryHits })),
    ...otherTexts
      .filter((text) => !pairTexts.includes(text))
      .map((text) => ({ text, limit: subqueryHits })),
  ])
  return pairTexts.map((text) => subqueries.result(text) ?? noHits)
}

/** Step 3. Sends nothing if it is not needed. */
async function searchMore(
  { all }: ClassifiedWords,
  pairs: PairQueries,
  subqueries: Subqueries,
  isEnough: boolean,
): Promise<void> {
  const texts = [...(isEnough ? [] : all), ...listTriplesOfCutPairs(all, pairs, subqueries)]
  await subqueries.send(texts.map((text) => ({ text, limit: subqueryHits })))
}

/** Step 4. */
function rankProducts(
  { words: typedWords, synonyms }: ParsedQuery,
  { all, counts, unknown, translations }: ClassifiedWords,
  subqueries: Subqueries,
  wholeTextLists: EngineResult[],
): RelaxedHit[] {
  const equivalents = new Map(
    all.map((word) => [
      word,
      [...(translations.get(word) ?? []), ...(synonyms.get(foldText(word)) ?? [])],
    ]),
  )
  const similarity = new TextSimilarity(all, typedWords.at(-1) ?? '', equivalents, unknown)
  const weights = all.map((word) => {
    const isUnknown = unknown.includes(word)
    return weighWord(isUnknown ? subqueries.result(word)?.estimatedTotalHits : counts.get(word))
  })
  return rankByOwnText(similarity, weights, [...wholeTextLists, ...subqueries.results()])
}

/** Sends subqueries to the engine, each text once, and holds their results. */
class Subqueries {
  readonly #engine: SearchEngine
  readonly #base: Omit<EngineQuery, 'limit'>
  readonly #signal: AbortSignal
  readonly #results = new Map<string, EngineResult>()

  constructor(engine: SearchEngine, base: Omit<EngineQuery, 'limit'>, signal: AbortSignal) {
    this.#engine = engine
    this.#base = base
    this.#signal = signal
  }

  /** Sends the subqueries that have not been sent before. Throws like `SearchEngine.search`. */
  async send(subqueries: { text: string; limit: number }[]): Promise<void> {
    const unsent = new Map(
      subqueries
        .filter(({ text }) => !this.#results.has(text))
        .map(({ text, limit }) => [text, limit]),
    )
    const queries = [...unsent].map(([text, limit]) => toSubquery(this.#base, text, limit))
    const results = await searchInParallel(this.#engine, queries, this.#signal)
    for (const [index, { q }] of queries.entries()) this.#results.set(q, results[index] ?? noHits)
  }

  /** Returns the result for a text; undefined if it was not sent. */
  result(text: string): EngineResult | undefined {
    return this.#results.get(text)
  }

  /** Returns all results, in the order in which they were requested. */
  results(): EngineResult[] {
    return [...this.#results.values()]
  }
}

/** Divides the queries among parallel requests. Returns the results in the order of the queries. */
async function searchInParallel(
  engine: SearchEngine,
  queries: EngineQuery[],
  signal: AbortSignal,
): Promise<EngineResult[]> {
  const results = queries.map(() => noHits)
  const requests = divideEvenly(queries).map(async (request) => {
    const requestResults = await engine.search(
      request.map(({ query }) => query),
      signal,
    )
    for (const [index, { position }] of request.entries())
      results[position] = requestResults[index] ?? noHits
  })
  await Promise.all(requests)
  return results
}

type PositionedQuery = { query: EngineQuery; position: number }

/** Spreads the slow queries, those without quotes, evenly. `position` is the place in `queries`. */
function divideEvenly(queries: EngineQuery[]): PositionedQuery[][] {
  const positioned = queries.map((query, position) => ({ query, position }))
  const isQuoted = ({ query }: PositionedQuery) => query.q.endsWith('"')
  const slowFirst = positioned.toSorted((a, b) => Number(isQuoted(a)) - Number(isQuoted(b)))
  const count = Math.min(parallelRequests, queries.length)
  const requests: PositionedQuery[][] = Array.from({ length: count }, () => [])
  for (const [index, entry] of slowFirst.entries()) requests[index % count]?.push(entry)
  return requests
}

function countProducts(lists: EngineResult[]): number {
  return new Set(lists.flatMap(({ hits }) => hits.map(({ id }) => id))).size
}

const noHits: EngineResult = { hits: [], estimatedTotalHits: 0 }

/**
 * Quotes words, so that the engine finds only products with exactly these words, in any order and
 * place. That takes a quarter of the time of words with typos, prefixes and synonyms.
 */
function quote(...words: string[]): string {
  return words.map((word) => `"${word}"`).join(' ')
}

function toSubquery(base: Omit<EngineQuery, 'limit'>, q: string, limit: number): EngineQuery {
  return { ...base, q, limit, matchingStrategy: 'all' }
}

/** The texts of the subqueries for pairs of words (step 2). */
class PairQueries {
  readonly #words: string[]
  readonly #lastWord: string | undefined
  readonly #unknown: Set<string>
  readonly #rare: Set<string>
  readonly #synonyms: ParsedQuery['synonyms']

  constructor({ words, synonyms }: ParsedQuery, { all, rare, unknown }: ClassifiedWords) {
    this.#words = all
    this.#lastWord = words.at(-1)
    this.#unknown = new Set(unknown)
    this.#rare = new Set(rare)
    this.#synonyms = synonyms
  }

  /** Returns a query for each pair, except for words that are far apart and both known. */
  list(): string[] {
    return this.#words.flatMap((word, index) =>
      this.#words
        .slice(index + 1)
        .filter(
          (other, next) =>
            next < maxPairDistance || this.#unknown.has(word) || this.#unknown.has(other),
        )
        .map((other) => this.get(word, other)),
    )
  }

  /** Returns the query for two words. `word` must come before `other` in the text. */
  get(word: string, other: string): string {
    const isAdjacent = this.#words.indexOf(other) - this.#words.indexOf(word) === 1
    if (isAdjacent && this.#synonyms.has(`${foldText(word)} ${foldText(other)}`))
      return `${word} ${other}`
    // The engine completes only the last word. A word that no product contains may be incomplete.
    const ordered =
      this.#unknown.has(word) && !this.#unknown.has(other) ? [other, word] : [word, other]
    return ordered.map((each) => (this.#isExact(each, isAdjacent) ? quote(each) : each)).join(' ')
  }

  /** Whether a word is searched as typed. Typos, synonyms and endings cost more. */
  #isExact(word: string, isAdjacent: boolean): boolean {
    if (this.#unknown.has(word)) return false
    if (!isAdjacent) return true
    const isUnfinished = word === this.#lastWord
    return !isUnfinished && !this.#rare.has(word) && !this.#synonyms.has(foldText(word))
  }
}

/**
 * Returns the triples of words of which each pair has more products than were returned, so that a
 * product with the three words may be missing from all three results.
 */
function listTriplesOfCutPairs(
  words: string[],
  pairs: PairQueries,
  subqueries: Subqueries,
): string[] {
  if (words.length <= 3) return []
  const isCut = (word: string, other: string) => {
    const result = subqueries.result(pairs.get(word, other))
    return result === undefined || result.estimatedTotalHits > result.hits.length
  }
  const triples = words.flatMap((first, index) =>
    words.slice(index + 1).flatMap((second, next) =>
      words
        .slice(index + next + 2)
        .filter((third) => isCut(first, second) && isCut(first, third) && isCut(second, third))
        .map((third) => quote(first, second, third)),
    ),
  )
  return triples.slice(0, maxTriples)
}

/**
 * Returns the translated words, their pairs with every other word, and the whole text translated.
 * Words without a translation, such as brands, stay as they are.
 */
function translatePhrases(words: string[], translations: Map<string, string[]>): string[] {
  if (translations.size === 0) return []
  const translate = (word: string) => translations.get(word)?.[0] ?? word
  const single = [...new Set([...translations.values()].flat())]
  const pairs = words.flatMap((word, index) =>
    words
      .slice(index + 1)
      .filter((other) => translations.has(word) || translations.has(other))
      .map((other) => `${translate(word)} ${translate(other)}`),
  )
  const whole = words.length > 2 ? [words.map(translate).join(' ')] : []
  return [...whole, ...single.slice(0, maxTranslations), ...pairs.slice(0, maxTranslations)]
}

/** Returns the weight of a word that this many products contain. Rarer words weigh more. */
function weighWord(productCount = 0): number {
  return Math.log(1 + catalogueSize / Math.max(1, productCount)) ** rarityExponent
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
