// Searches products in the engine: plans and sends the queries, merges their results, and computes
// highlights. Relaxes the query if no product contains all its words.
import { shownAttributes } from '../../search-engine/document-fields.ts'
import { EngineTimeout } from '../../search-engine/request-outcome.ts'
import { maxTotal } from '../../search-engine/result-limits.ts'
import type { EngineHit, EngineResult, SearchEngine } from '../../search-engine/search-client.ts'
import type { ParsedQuery } from '../../text/parse-query.ts'
import { highlightByComparison, highlightEngineHit } from '../highlights.ts'
import {
  canRelax,
  countTypedWords,
  missesWords,
  type RelaxedResult,
  relaxQuery,
} from '../relaxation/relax-query.ts'
import { NotRelaxed, type RelaxationQueue } from '../relaxation/relaxation-queue.ts'
import { type BaseQuery, Subqueries } from '../relaxation/subqueries.ts'
import type { WordMatches } from '../relaxation/word-matches.ts'
import type { Hit, ParsedRequest, SearchResult } from '../schema.ts'
import {
  firstHitCount,
  type PlannedQuery,
  planQueries,
  toFirstHitsQuery,
} from './engine-queries.ts'
import { countFacets, sumFacetCounts } from './facet-counts.ts'
import {
  type PartRule,
  putExactSpellingFirst,
  putInPinnedOrder,
  toEngineFilters,
  usesWords,
} from './hit-order.ts'

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
type PartResult = {
  rule: PartRule
  /** The number of hits of the part that the engine has skipped. */
  offset: number
  result: EngineResult
  firstHitsResult: EngineResult
}

/** The index that is searched, and what the searches in it share. */
export type SearchedIndex = {
  engine: SearchEngine
  indexName: string
  /** Limits how many queries are relaxed at the same time. */
  relaxations: RelaxationQueue
  wordMatches: WordMatches
}

/**
 * What an engine found. If the query had to be relaxed and was not, because too many others were,
 * or because a later request failed, the result is that of the first request.
 */
export type EngineAnswer =
  | { kind: 'complete'; result: SearchResult }
  | { kind: 'not-relaxed'; result: SearchResult }
  | { kind: 'relaxation-failed'; result: SearchResult; error: unknown }

/**
 * Searches the index and returns the requested page of hits. If no product contains all the words,
 * further requests find products that contain some of them. Throws if the engine does not answer
 * the first request, or if `signal` aborts before. A request that is not needed any more may still
 * run when this function returns; it ends when `signal` aborts.
 */
export async function searchInEngine(
  { engine, indexName, relaxations, wordMatches }: SearchedIndex,
  request: ParsedRequest,
  signal: AbortSignal,
): Promise<EngineAnswer> {
  const { query } = request
  const subqueries = new Subqueries(engine, toBaseQuery(indexName, request), signal)
  const countWords = () => countTypedWords(subqueries, query)
  const earlyCounts = shouldCountEarly(query, wordMatches) ? countWords() : null
  earlyCounts?.catch(() => undefined) // thrown where it is awaited

  const parts = await requestParts(engine, request, planQueries(request, indexName), signal)
  const hasAllWords = isSatisfied(query, parts)
  if (query.searched.words.length > 1) wordMatches.record(query.text, hasAllWords)
  if (hasAllWords) return { kind: 'complete', result: mergeParts(request, parts) }

  try {
    const relaxed = await relaxations.run(query.searched.words.length, async () => {
      const wordCounts = await (earlyCounts ?? countWords())
      return relaxQuery(subqueries, query, listWholeTextHits(parts), wordCounts)
    })
    return { kind: 'complete', result: buildRelaxedResult(request, parts, relaxed) }
  } catch (error) {
    const result = mergeParts(request, parts)
    if (error instanceof NotRelaxed) return { kind: 'not-relaxed', result }
    // After a time-out the results of the first request are sent, even if there are none, because
    // the engine is not down.
    if (error instanceof EngineTimeout || result.total > 0)
      return { kind: 'relaxation-failed', result, error }
    throw error
  }
}

/** Whether the words are counted at the same time as the first request is sent. */
function shouldCountEarly(query: ParsedQuery, wordMatches: WordMatches): boolean {
  if (!canRelax(query) || query.searched.words.length < minWordsToCountEarly) return false
  return !wordMatches.guess(query.text)
}

/** Sends the queries of all parts in one request. */
async function requestParts(
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
  return hasCode || bestHits.some((hit) => !missesWords(hit, query.searched.words))
}

function toBaseQuery(indexName: string, request: ParsedRequest): BaseQuery {
  return {
    indexUid: indexName,
    filter: toEngineFilters(request),
    attributesToRetrieve: shownAttributes,
  }
}

/** Returns the best hits of the whole text, the same ones for every page. */
function listWholeTextHits(parts: PartResult[]): EngineResult[] {
  return parts
    .filter(({ rule }) => usesWords(rule))
    .map(({ firstHitsResult: list }) => ({ ...list, hits: list.hits.slice(0, firstHitCount) }))
}

/**
 * Returns the requested page. Pinned products come first even if they have none of the words.
 * Highlights by comparison: the engine would have to report positions for every hit of every
 * subquery, and only one page of them is shown.
 */
function buildRelaxedResult(
  { offset, limit, facets, query }: ParsedRequest,
  parts: PartResult[],
  relaxed: RelaxedResult,
): SearchResult {
  const pinned = putInPinnedOrder(
    parts.find(({ rule }) => rule === 'pinned')?.result.hits ?? [],
    query.pinnedSkus,
  )
  const pinnedIds = new Set(pinned.map(({ id }) => id))
  const hits = [...pinned, ...relaxed.hits.filter(({ id }) => !pinnedIds.has(id))]
  return {
    hits: hits.slice(offset, offset + limit).map((hit) => {
      const matches = pinnedIds.has(hit.id) ? [] : relaxed.listMatches(hit)
      const words = new Set([...query.highlight.words, ...matches])
      return toHit(hit, highlightByComparison(hit, { ...query.highlight, words }))
    }),
    total: Math.min(maxTotal, hits.length),
    facets: countFacets(facets, hits),
    facetsOmitted: false,
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
    facetsOmitted: false,
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
