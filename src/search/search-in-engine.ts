// Searches products in the engine: plans and sends the queries, merges their results, and computes
// highlights. Relaxes the query if no product contains all its words.
import { EngineFailure, EngineTimeout } from '../search-engine/request-outcome.ts'
import { maxTotal } from '../search-engine/result-limits.ts'
import {
  type EngineHit,
  type EngineQuery,
  type EngineResult,
  requestResults,
  type SearchEngine,
} from '../search-engine/search-client.ts'
import type { ParsedQuery } from '../text/parse-query.ts'
import { countFacets, sumFacetCounts } from './hits/facet-counts.ts'
import { highlightByComparison, highlightEngineHit } from './hits/highlights.ts'
import {
  firstHitCount,
  type HitGroupKind,
  type PlannedHitGroups,
  planHitGroups,
  toEngineFilters,
  usesWords,
} from './hits/hit-group-order.ts'
import { putExactSpellingFirst, putInPinnedOrder } from './hits/order-within-groups.ts'
import { canRelax, loadQueryWords, missesWords } from './relaxation/query-words.ts'
import { relaxQuery } from './relaxation/relax-query.ts'
import type { RelaxationForecast } from './relaxation/relaxation-forecast.ts'
import type { RelaxationQueue } from './relaxation/relaxation-queue.ts'
import { Subqueries } from './relaxation/subqueries.ts'
import type { TextSimilarity } from './relaxation/text-similarity.ts'
import type { Hit, ParsedRequest, SearchResult } from './schema.ts'

/** What the engine has found for one hit group. */
type HitGroupResult = {
  kind: HitGroupKind
  result: EngineResult
  /** The best hits of the group (firstHitCount). */
  firstHits: EngineHit[]
}

/** What the engine has found for all hit groups. */
type FoundHitGroups = Omit<PlannedHitGroups, 'groups'> & { groups: HitGroupResult[] }

/** The index that is searched, and what the searches of a process share. */
export type SearchedIndex = {
  indexName: string
  /** Limits how many queries are relaxed at the same time. */
  relaxationQueue: RelaxationQueue
  relaxationForecast: RelaxationForecast
}

/**
 * What the engine has answered to a search:
 * - `complete`: products contain all the words, or the query was relaxed.
 * - `not relaxed`: too many other queries were being relaxed. The result is that of the first
 *   request, and may lack products.
 * - `relaxation failed`: the same, but because of `error`, which is null otherwise. It is an
 *   `EngineFailure` or a defect of this service.
 */
export type EngineAnswer = {
  ended: 'complete' | 'not relaxed' | 'relaxation failed'
  result: SearchResult
  error: unknown
  /** Whether a request may still run that the answer did not need. It ends when `signal` aborts. */
  mayHavePendingRequest: boolean
}

/**
 * Searches the index and returns the requested page of hits. If no product contains all the words,
 * further requests find products that contain some of them. Throws an `EngineFailure` if the engine
 * does not answer the first request, or if `signal` aborts before.
 */
export async function searchInEngine(
  { indexName, relaxationQueue, relaxationForecast }: SearchedIndex,
  engine: SearchEngine,
  request: ParsedRequest,
  signal: AbortSignal,
): Promise<EngineAnswer> {
  const { query } = request
  const scope = { indexUid: indexName, filter: toEngineFilters(request) }
  const subqueries = new Subqueries(engine, scope, signal)
  const loadWords = () => loadQueryWords(subqueries, query)
  // The relaxation needs the words. If it is likely, they are requested while the groups are. This
  // request does not wait in the relaxation queue (relaxation-queue.ts).
  const countsWordsEarly = relaxationForecast.shouldCountEarly(query)
  const earlyWords = countsWordsEarly ? loadWords() : null
  // If the words are needed, their error is thrown where they are awaited. Without this line Node
  // would end the process if they are not needed.
  earlyWords?.catch(() => undefined)

  const found = await requestHitGroups(engine, request, indexName, signal)
  const isToBeRelaxed = needsRelaxation(query, found.groups)
  relaxationForecast.record(query, isToBeRelaxed)
  if (!isToBeRelaxed) {
    const result = mergeHitGroups(request, found)
    return { ended: 'complete', result, error: null, mayHavePendingRequest: countsWordsEarly }
  }

  try {
    const groupsOfWords = found.groups.filter(({ kind }) => usesWords(kind))
    const firstHits = groupsOfWords.map((group) => group.firstHits)
    const relaxed = await relaxationQueue.run(query.searched.words.length, async () => {
      const words = await (earlyWords ?? loadWords())
      return relaxQuery(subqueries, words, query.synonyms, firstHits)
    })
    if (relaxed) {
      const result = buildRelaxedResult(request, found.groups, relaxed)
      return { ended: 'complete', result, error: null, mayHavePendingRequest: false }
    }
    const result = mergeHitGroups(request, found)
    return { ended: 'not relaxed', result, error: null, mayHavePendingRequest: countsWordsEarly }
  } catch (error) {
    const result = mergeHitGroups(request, found)
    const isTimeout = error instanceof EngineFailure && error.cause instanceof EngineTimeout
    // If the relaxation only takes too long, this result is sent even if it has no hits. The caller
    // has waited for the whole time limit, and many such searches would overload PostgreSQL.
    if (isTimeout || result.total > 0)
      return { ended: 'relaxation failed', result, error, mayHavePendingRequest: true }
    throw error
  }
}

/**
 * Requests the hits of all groups. The engine may have skipped too many hits, if the groups before
 * them have very many products. Then requests all groups again, from their beginning.
 */
async function requestHitGroups(
  engine: SearchEngine,
  request: ParsedRequest,
  indexName: string,
  signal: AbortSignal,
): Promise<FoundHitGroups> {
  const found = await sendGroupQueries(engine, planHitGroups(request, indexName), signal)
  if (!hasSkippedTooMany(found, request.offset)) return found
  return sendGroupQueries(engine, planHitGroups(request, indexName, { maySkipHits: false }), signal)
}

/** Whether the engine has skipped hits that belong to the page, or to a later one. */
function hasSkippedTooMany({ groups, skippedHits }: FoundHitGroups, offset: number): boolean {
  if (skippedHits === 0) return false
  const before = groups.filter(({ kind }) => kind !== 'words').map(({ result }) => result)
  return skippedHits + sumTotals(before) > offset
}

function sumTotals(results: EngineResult[]): number {
  return results.reduce((sum, { estimatedTotalHits }) => sum + estimatedTotalHits, 0)
}

/** Sends the queries of all groups in one request. */
async function sendGroupQueries(
  engine: SearchEngine,
  { groups, skippedHits }: PlannedHitGroups,
  signal: AbortSignal,
): Promise<FoundHitGroups> {
  const queries = groups.flatMap(({ query, firstHitsQuery }): EngineQuery[] =>
    firstHitsQuery ? [query, firstHitsQuery] : [query],
  )
  const resultOf = await requestResults(engine, queries, signal)
  const results = groups.map(({ kind, query, firstHitsQuery = query }) => ({
    kind,
    result: resultOf(query),
    firstHits: resultOf(firstHitsQuery).hits.slice(0, firstHitCount),
  }))
  return { groups: results, skippedHits }
}

/**
 * Whether to relax the query. Not in three cases: relaxing it cannot find more, a code was found,
 * or the first hit of a group contains all the words.
 */
function needsRelaxation(query: ParsedQuery, groups: HitGroupResult[]): boolean {
  if (!canRelax(query)) return false
  // Pinned products need not match.
  const matching = groups.filter(({ kind }) => kind !== 'pinned')
  const hasCode = matching.some(({ kind, result }) => !usesWords(kind) && result.hits.length > 0)
  const topHitPerGroup = matching.flatMap(({ firstHits }) => firstHits.slice(0, 1))
  return !hasCode && topHitPerGroup.every((hit) => missesWords(hit, query.searched.words))
}

/**
 * Returns the requested page. Pinned products come first even if they have none of the words.
 * Highlights by comparison: the engine would have to report positions for every hit of every
 * subquery, and only one page of them is shown.
 */
function buildRelaxedResult(
  { offset, limit, facets, query }: ParsedRequest,
  groups: HitGroupResult[],
  relaxed: { hits: EngineHit[]; similarity: TextSimilarity },
): SearchResult {
  const pinned = putInPinnedOrder(
    groups.find(({ kind }) => kind === 'pinned')?.result.hits ?? [],
    query.pinnedSkus,
  )
  const pinnedIds = new Set(pinned.map(({ id }) => id))
  const hits = [...pinned, ...relaxed.hits.filter(({ id }) => !pinnedIds.has(id))]
  return {
    hits: hits.slice(offset, offset + limit).map((hit) => {
      const matches = pinnedIds.has(hit.id) ? [] : relaxed.similarity.listMatches(hit)
      const words = new Set([...query.highlight.words, ...matches])
      return toHit(hit, highlightByComparison(hit, { ...query.highlight, words }))
    }),
    total: Math.min(maxTotal, hits.length),
    facets: countFacets(facets, hits),
    facetsOmitted: false,
  }
}

function mergeHitGroups(
  request: ParsedRequest,
  { groups, skippedHits }: FoundHitGroups,
): SearchResult {
  const hits = groups.flatMap((group) => toHits(request.query, group))
  const results = groups.map(({ result }) => result)
  // The skipped hits are before the page (`skippedHits` of PlannedHitGroups).
  const start = request.offset - skippedHits
  return {
    hits: hits.slice(start, start + request.limit),
    total: Math.min(maxTotal, sumTotals(results)),
    facets: sumFacetCounts(request.facets, results),
    facetsOmitted: false,
  }
}

function toHits(
  { text, highlight, pinnedSkus }: ParsedQuery,
  { kind, result }: HitGroupResult,
): Hit[] {
  if (kind === 'exact-sku')
    return putExactSpellingFirst(result.hits, text).map((hit) =>
      toHit(hit, { sku: [[0, hit.sku.length]] }),
    )
  if (kind === 'pinned')
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
