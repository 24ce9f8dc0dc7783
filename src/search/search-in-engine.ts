// Searches products in the engine: plans and sends the queries, merges their results, and computes
// highlights. Relaxes the query if no product contains all its words.
import { shownAttributes } from '../search-engine/document-fields.ts'
import type { Found } from '../search-engine/engine-failover.ts'
import { EngineTimeout } from '../search-engine/request-outcome.ts'
import { maxTotal } from '../search-engine/result-limits.ts'
import type {
  EngineHit,
  EngineQuery,
  EngineResult,
  SearchEngine,
} from '../search-engine/search-client.ts'
import type { ParsedQuery } from '../text/parse-query.ts'
import {
  firstHitCount,
  type PlannedQuery,
  planQueries,
  toFirstHitsQuery,
} from './engine-queries.ts'
import { countFacets, sumFacetCounts } from './facet-counts.ts'
import { highlightByComparison, highlightEngineHit } from './highlights.ts'
import { putExactSpellingFirst, putInPinnedOrder, toEngineFilters, usesWords } from './hit-order.ts'
import {
  canRelax,
  countTypedWords,
  missesWords,
  type RelaxedHit,
  searchRelaxed,
  type WordCounts,
} from './query/query-relaxation.ts'
import { NotRelaxed, type RelaxationQueue } from './query/relaxation-queue.ts'
import type { WordMatches } from './query/word-matches.ts'
import type { Hit, ParsedRequest, SearchResult } from './schema.ts'

/**
 * With this many words or more, products often lack one of them. So the words are counted at the
 * same time as the first request, which adds a fifth to its cost. They are not counted early if a
 * product had all the words of the text before the last letters were typed.
 */
const minWordsToCountEarly = 3

/**
 * The engine's result for one part of the hits. `firstHitsResult` has the first hits of the part;
 * it is another result only for a later page.
 */
type PartResult = Pick<PlannedQuery, 'rule' | 'offset'> & {
  result: EngineResult
  firstHitsResult: EngineResult
}

/** The index, and what the searches of a process share. */
export type SearchedIndex = {
  engine: SearchEngine
  indexName: string
  /** Limits how many queries are relaxed at the same time. */
  relaxations: RelaxationQueue
  wordMatches: WordMatches
}

/**
 * Searches the index and returns the requested page of hits. If no product contains all the words,
 * a second request finds products that contain some of them. If only that one fails, the result of
 * the first is returned with the error. Throws if the engine does not answer or `signal` aborts.
 */
export async function searchInEngine(
  { engine, indexName, relaxations, wordMatches }: SearchedIndex,
  request: ParsedRequest,
  signal: AbortSignal,
): Promise<Found<SearchResult>> {
  const plan = planQueries(request, indexName)
  const count = () =>
    countTypedWords(engine, toBaseQuery(indexName, request), request.query, signal)
  const earlyCounts = shouldCountEarly(request.query, wordMatches) ? count() : undefined
  earlyCounts?.catch(() => undefined) // thrown where it is awaited
  const parts = await sendQueries(engine, request, plan, signal)
  const hasAllWords = isSatisfied(request.query, parts)
  if (request.query.words.length > 1) wordMatches.record(request.query.text, hasAllWords)
  if (hasAllWords)
    return {
      result: mergeParts(request, parts),
      isComplete: true,
      hasRunningRequest: earlyCounts !== undefined,
    }
  try {
    const hits = await relaxations.run(request.query.words.length, () =>
      relaxQuery(engine, indexName, request, { parts, wordCounts: earlyCounts ?? count() }, signal),
    )
    const withPins = withPinnedFirst(request.query, parts, hits)
    return { result: buildRelaxedResult(request, withPins), isComplete: true }
  } catch (error) {
    const result = mergeParts(request, parts)
    const found = { result, isComplete: false, hasRunningRequest: true }
    if (error instanceof NotRelaxed) return found
    // After a time-out the results of the first request are sent, even if there are none, because
    // the engine is not down.
    if (error instanceof EngineTimeout || result.total > 0) return { ...found, error }
    throw error
  }
}

/** Whether the words are counted at the same time as the first request is sent. */
function shouldCountEarly(query: ParsedQuery, wordMatches: WordMatches): boolean {
  if (!canRelax(query) || query.words.length < minWordsToCountEarly) return false
  return !wordMatches.guess(query.text)
}

async function sendQueries(
  engine: SearchEngine,
  { query }: ParsedRequest,
  plan: PlannedQuery[],
  signal: AbortSignal,
): Promise<PartResult[]> {
  const queries = plan.map((planned) => planned.query)
  // The first hits decide whether the query is relaxed. A later page lacks them, so one more query
  // requests them.
  const laterPage = canRelax(query) ? plan.find(({ offset }) => offset > 0) : undefined
  if (laterPage) queries.push(toFirstHitsQuery(laterPage))
  const results = await engine.search(queries, signal)
  const laterPageFirstHits = laterPage ? results[plan.length] : undefined
  return plan.flatMap((planned, index) => {
    const result = results[index]
    if (!result) return []
    const firstHitsResult = planned === laterPage ? (laterPageFirstHits ?? result) : result
    return { rule: planned.rule, offset: planned.offset, result, firstHitsResult }
  })
}

/** Whether no relaxation is needed: a code was found, or a best hit contains all the words. */
function isSatisfied(query: ParsedQuery, parts: PartResult[]): boolean {
  if (!canRelax(query)) return true
  // Pinned products need not match.
  const matching = parts.filter(({ rule }) => rule !== 'pinned')
  const hasCode = matching.some(({ rule, result }) => !usesWords(rule) && result.hits.length > 0)
  const bestHits = matching.flatMap(({ firstHitsResult }) => firstHitsResult.hits.slice(0, 1))
  return hasCode || bestHits.some((hit) => !missesWords(hit, query.words))
}

/** Returns what all subqueries of a relaxed query have in common. */
function toBaseQuery(indexName: string, request: ParsedRequest): Omit<EngineQuery, 'limit'> {
  return {
    indexUid: indexName,
    q: request.query.engineText,
    filter: toEngineFilters(request),
    attributesToRetrieve: shownAttributes,
  }
}

/** Returns the hits of the relaxed query. Throws as `searchRelaxed` does. */
function relaxQuery(
  engine: SearchEngine,
  indexName: string,
  request: ParsedRequest,
  { parts, wordCounts }: { parts: PartResult[]; wordCounts: Promise<WordCounts> },
  signal: AbortSignal,
): Promise<RelaxedHit[]> {
  const wholeTextLists = parts
    .filter(({ rule }) => usesWords(rule))
    .map(({ firstHitsResult: list }) => ({ ...list, hits: list.hits.slice(0, firstHitCount) }))
  const base = toBaseQuery(indexName, request)
  return searchRelaxed(engine, base, request.query, { wholeTextLists, wordCounts }, signal)
}

/** Pinned products come first even if they have none of the words. */
function withPinnedFirst(
  { pinnedSkus }: ParsedQuery,
  parts: PartResult[],
  relaxed: RelaxedHit[],
): RelaxedHit[] {
  const part = parts.find(({ rule }) => rule === 'pinned')
  const pinned = putInPinnedOrder(part?.result.hits ?? [], pinnedSkus)
  const ids = new Set(pinned.map(({ id }) => id))
  return [
    ...pinned.map((hit) => ({ hit, listMatches: () => [] })),
    ...relaxed.filter(({ hit }) => !ids.has(hit.id)),
  ]
}

/**
 * Returns the requested page. Highlights by comparison: the engine would have to report positions
 * for every hit of every subquery, and only one page of them is shown.
 */
function buildRelaxedResult(request: ParsedRequest, hits: RelaxedHit[]): SearchResult {
  const { offset, limit, facets, query } = request
  const page = hits.slice(offset, offset + limit)
  return {
    hits: page.map(({ hit, listMatches }) => {
      const words = new Set([...query.highlight.words, ...listMatches()])
      return toHit(hit, highlightByComparison(hit, { ...query.highlight, words }))
    }),
    total: Math.min(maxTotal, hits.length),
    facets: countFacets(
      facets,
      hits.map(({ hit }) => hit),
    ),
  }
}

function mergeParts(request: ParsedRequest, parts: PartResult[]): SearchResult {
  const hits = parts.flatMap((part) => toHits(request.query, part))
  const results = parts.map(({ result }) => result)
  const total = results.reduce((sum, { estimatedTotalHits }) => sum + estimatedTotalHits, 0)
  // The engine has already skipped this many hits of the last part, which are before the page.
  const start = request.offset - (parts.at(-1)?.offset ?? 0)
  return {
    hits: hits.slice(start, start + request.limit),
    total: Math.min(maxTotal, total),
    facets: sumFacetCounts(request.facets, results),
  }
}

function toHits({ text, highlight, pinnedSkus }: ParsedQuery, { rule, result }: PartResult): Hit[] {
  if (rule === 'exact-sku')
    return putExactSpellingFirst(result.hits, text).map((hit) =>
      toHit(hit, { sku: [[0, hit.sku.length]] }),
    )
  if (rule === 'pinned')
    return putInPinnedOrder(result.hits, pinnedSkus).map((hit) =>
      toHit(hit, highlightByComparison(hit, highlight)),
    )
  return result.hits.map((hit) => toHit(hit, highlightEngineHit(hit, highlight)))
}

function toHit(hit: EngineHit, highlights: Hit['highlights']): Hit {
  const { id, sku, name, description, category, brand, unit, price, hsCode, originCountry } = hit
  return {
    id,
    sku,
    name,
    description,
    category,
    brand,
    unit,
    price,
    hsCode,
    originCountry,
    highlights,
  }
}
