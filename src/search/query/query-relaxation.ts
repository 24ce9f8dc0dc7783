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
/** The same for each of two words, of which the answer consists. */
const hitsOfTwoWords = 40
/** With fewer hits, single words are requested too. */
const enoughHits = defaultHits
/** At most this many translations are requested. */
const maxTranslations = 8
/** Pairs of known words that are further apart are not requested. */
const maxPairDistance = 4
/** At most this many triples of words are requested. */
const maxTriples = 10
/** The subqueries are sent in this many requests at once, which the engine answers in parallel. */
const parallelRequests = 2
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
export function canRelax({ words, translations }: ParsedQuery): boolean {
  return words.length > 1 || translations.size > 0
}

/** The results for each word in quotes: how many products contain it as typed. */
export type TypedCounts = Promise<Map<string, EngineResult>>

/**
 * Asks how many products contain each word as typed. Throws if the engine does not answer or
 * `signal` aborts.
 */
export async function countTypedWords(
  engine: SearchEngine,
  base: Omit<EngineQuery, 'limit'>,
  { significantWords }: ParsedQuery,
  signal: AbortSignal,
): TypedCounts {
  const queries = significantWords.map((word) => toSubquery(base, quote(word), 0))
  const results = await engine.search(queries, signal)
  return new Map(queries.map(({ q }, index) => [q, results[index] ?? noHits]))
}

/**
 * Asks for pairs of words, of which those in no product as typed may have typos or translations.
 * Another request follows only if needed: for single words if few products were found, and for
 * triples that the lists of pairs were too short for. `firstLists` has the best hits of the whole
 * text, `counts` the result of countTypedWords. Returns the products by the words that they
 * contain, then by reciprocal rank fusion of the engine's rankings. The list depends on the words
 * and filters only, so pages are consistent and the length of the list is the total. Throws if the
 * engine does not answer or `signal` aborts.
 */
export async function searchRelaxed(
  engine: SearchEngine,
  base: Omit<EngineQuery, 'limit'>,
  query: ParsedQuery,
  { firstLists, counts }: { firstLists: EngineResult[]; counts: TypedCounts },
  signal: AbortSignal,
): Promise<RelaxedHit[]> {
  const words = query.significantWords
  const found = new Map(await counts)
  const ask = async (queries: EngineQuery[]) => {
    const newQueries = queries.filter(({ q }) => !found.has(q))
    const results = await searchInParallel(engine, newQueries, signal)
    for (const [index, { q }] of newQueries.entries()) found.set(q, results[index] ?? noHits)
  }
  const countTyped = (word: string) => found.get(quote(word))?.estimatedTotalHits ?? 0
  const unknownWords = words.filter((word) => countTyped(word) === 0)
  const rareWords = words.filter((word) => countTyped(word) < enoughHits)
  const translations = new Map(
    [...query.translations].filter(([word]) => unknownWords.includes(word)),
  )
  const pairs = new PairQueries(query, unknownWords, rareWords)
  const pairTexts = words.length === 2 ? words : pairs.list()
  const hitsOfPair = words.length === 2 ? hitsOfTwoWords : subqueryHits
  const others = [...unknownWords, ...translatePhrases(words, translations)]
  await ask([
    ...pairTexts.map((q) => toSubquery(base, q, hitsOfPair)),
    ...others.filter((q) => !pairTexts.includes(q)).map((q) => toSubquery(base, q)),
  ])
  const pairLists = pairTexts.map((q) => found.get(q) ?? noHits)
  const isEnough = countHits([...firstLists, ...pairLists]) >= enoughHits
  const third = [...(isEnough ? [] : words), ...listCutTriples(words, pairs, found)]
  await ask(third.map((q) => toSubquery(base, q)))
  const sameWords = new Map(
    words.map((word) => [
      word,
      [...(translations.get(word) ?? []), ...(query.synonyms.get(foldText(word)) ?? [])],
    ]),
  )
  const lastWord = query.words.at(-1) ?? ''
  const similarity = new TextSimilarity(words, lastWord, sameWords, unknownWords)
  const weights = words.map((word) =>
    weighWord(found.get(unknownWords.includes(word) ? word : quote(word))),
  )
  return rankByOwnText(similarity, weights, [...firstLists, ...found.values()])
}

/** Deals the queries to requests that are sent at once. Returns the results in their order. */
async function searchInParallel(
  engine: SearchEngine,
  queries: EngineQuery[],
  signal: AbortSignal,
): Promise<EngineResult[]> {
  const count = Math.min(parallelRequests, queries.length)
  // Quoted words take less time. Each request gets as many of the others.
  const order = queries.toSorted((a, b) => Number(a.q.endsWith('"')) - Number(b.q.endsWith('"')))
  const requests = Array.from({ length: count }, (_, n) =>
    order.filter((_query, index) => index % count === n),
  )
  const answers = await Promise.all(requests.map((request) => engine.search(request, signal)))
  return queries.map((query) => {
    const place = order.indexOf(query)
    return answers[place % count]?.[Math.floor(place / count)] ?? noHits
  })
}

function countHits(lists: EngineResult[]): number {
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

function toSubquery(
  base: Omit<EngineQuery, 'limit'>,
  q: string,
  limit: number = subqueryHits,
): EngineQuery {
  return { ...base, q, limit, matchingStrategy: 'all' }
}

/** The texts of the subqueries for pairs of words. */
class PairQueries {
  readonly #words: string[]
  readonly #lastWord: string | undefined
  readonly #unknown: Set<string>
  readonly #rare: Set<string>
  readonly #synonyms: ParsedQuery['synonyms']

  /** `rareWords`: few products contain them as typed. Of those, `unknownWords` are in none. */
  constructor(
    { significantWords, words, synonyms }: ParsedQuery,
    unknownWords: string[],
    rareWords: string[],
  ) {
    this.#rare = new Set(rareWords)
    this.#words = significantWords
    this.#lastWord = words.at(-1)
    this.#unknown = new Set(unknownWords)
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

  /** Returns the query for two words, of which the first one is typed first. */
  get(word: string, other: string): string {
    const isAdjacent = this.#words.indexOf(other) - this.#words.indexOf(word) === 1
    if (isAdjacent && this.#synonyms.has(`${foldText(word)} ${foldText(other)}`))
      return `${word} ${other}`
    // The engine completes the last word only. A word in no product may be cut short.
    const ordered =
      this.#unknown.has(word) && !this.#unknown.has(other) ? [other, word] : [word, other]
    return ordered.map((each) => (this.#isExact(each, isAdjacent) ? quote(each) : each)).join(' ')
  }

  /** Whether a word needs no typos, and no synonyms and endings, which cost more. */
  #isExact(word: string, isAdjacent: boolean): boolean {
    if (this.#unknown.has(word)) return false
    if (!isAdjacent) return true
    const isUnfinished = word === this.#lastWord
    return !isUnfinished && !this.#rare.has(word) && !this.#synonyms.has(foldText(word))
  }
}

/**
 * Returns the triples of words that a product may have although no list has it: more products have
 * each pair of the words than were listed.
 */
function listCutTriples(
  words: string[],
  pairs: PairQueries,
  found: Map<string, EngineResult>,
): string[] {
  if (words.length <= 3) return []
  const isCut = (word: string, other: string) => {
    const result = found.get(pairs.get(word, other))
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

/** Weighs a word by its rarity. */
function weighWord({ estimatedTotalHits }: EngineResult = noHits): number {
  return Math.log(1 + catalogueSize / Math.max(1, estimatedTotalHits)) ** rarityExponent
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
