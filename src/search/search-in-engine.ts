// Searches products in the engine: plans and sends the queries, merges their results, and computes
// highlights. Relaxes the query if no product contains all its words.
import { shownAttributes } from '../search-engine/document-fields.ts'
import {
  classifyFailure,
  EngineFailure,
  EngineTimeout,
  type FailedOutcome,
} from '../search-engine/request-outcome.ts'
import { maxTotal } from '../search-engine/result-limits.ts'
import {
  type EngineHit,
  type EngineQuery,
  type EngineResult,
  requestResults,
  type SearchEngine,
} from '../search-engine/search-client.ts'
import type { ParsedQuery } from '../text/parse-query.ts'
import { startEngineTimeLimit } from './engine-time-limit.ts'
import { countFacets, sumFacetCounts } from './hits/facet-counts.ts'
import { highlightByComparison, highlightEngineHit } from './hits/highlights.ts'
import { type HitGroupKind, usesWords } from './hits/hit-group-kinds.ts'
import { putExactSpellingFirst, putInPinnedOrder } from './hits/order-within-groups.ts'
import {
  type PlannedHitGroups,
  planHitGroups,
  toEngineFilters,
  topHitCount,
} from './hits/plan-hit-groups.ts'
import { findPageStart, hasSkippedTooMany } from './hits/skipped-hits.ts'
import type { QueryWordMatcher } from './relaxation/query-word-matcher.ts'
import { canRelax, loadQueryWords, missesWords, type QueryWord } from './relaxation/query-words.ts'
import { relaxQuery } from './relaxation/relax-query.ts'
import type { RelaxationForecast } from './relaxation/relaxation-forecast.ts'
import type { RelaxationQueue } from './relaxation/relaxation-queue.ts'
import { Subqueries } from './relaxation/subqueries.ts'
import type { Hit, ParsedRequest, SearchResult } from './schema.ts'

/** What the engine has found for one hit group. */
type HitGroupResult = {
  kind: HitGroupKind
  result: EngineResult
  /** The first hits of the group, even for a later page (topHitCount). */
  topHits: EngineHit[]
}

/** What the engine has found for all hit groups. */
type FoundHitGroups = { groups: HitGroupResult[]; skippedHits: number }

/** What the searches of a process in engines share. */
export type EngineSearchResources = {
  indexName: string
  /** Limits how many queries are relaxed at the same time. */
  relaxationQueue: RelaxationQueue
  relaxationForecast: RelaxationForecast
}

/**
 * How a search in an engine ended:
 * - `complete`: products contain all the words, or the query was relaxed.
 * - `not relaxed`: other queries were being relaxed, and this one waited too long for its turn, or
 *   until the time limit of the search. The result may lack products.
 * - `relaxation timeout`: the engine answered the first request, but relaxing the query ended in a
 *   `timeout`. The result may lack products.
 * - `rejected`, `timeout`, `outage` (RequestOutcome): a request to the engine failed.
 * - `defect`: the code of this service failed.
 */
export type SearchEnding = 'complete' | 'not relaxed' | 'relaxation timeout' | FailedEnding
type FailedEnding = FailedOutcome | 'defect'

/**
 * What a search in an engine returns. `error` is the cause of a failure. If only relaxing the query
 * failed, the result is what was found before. It may lack products.
 */
export type EngineAnswer =
  | { ending: 'complete' | 'not relaxed'; result: SearchResult }
  | { ending: 'relaxation timeout' | FailedEnding; result: SearchResult; error: unknown }
  | { ending: FailedEnding; result: null; error: unknown }

/**
 * Searches the index for the requested page of hits. If no product contains all the words, further
 * requests find products that contain some of them. Never throws. All requests end at the time
 * limit, or when `disconnected` aborts.
 */
export async function searchInEngine(
  { indexName, relaxationQueue, relaxationForecast }: EngineSearchResources,
  engine: SearchEngine,
  request: ParsedRequest,
  disconnected: AbortSignal,
): Promise<EngineAnswer> {
  const { query } = request
  const limit = startEngineTimeLimit(disconnected)
  let earlyWords: Promise<QueryWord[]> | null = null
  let unrelaxedResult: SearchResult | null = null
  try {
    const scope = { indexUid: indexName, filter: toEngineFilters(request) }
    const subqueries = new Subqueries(engine, scope, limit.signal)
    const loadWords = () => loadQueryWords(subqueries, query)
    // Relaxing the query needs the number of products with each word. If it will probably be
    // relaxed, these numbers are requested now, at the same time as the hit groups.
    if (relaxationForecast.shouldCountEarly(query)) {
      earlyWords = loadWords()
      // If the first request fails too, its error is reported. Nothing awaits this one then, and an
      // unhandled rejection would end the process.
      earlyWords.catch(() => undefined)
    }
    const found = await requestHitGroups(engine, request, indexName, limit.signal)
    const mustRelax = needsRelaxation(query, found.groups)
    relaxationForecast.record(query, mustRelax)
    unrelaxedResult = mergeHitGroups(request, found)
    if (!mustRelax) return { ending: 'complete', result: unrelaxedResult }

    const wordCount = query.engineText.words.length
    const relaxed = await relaxationQueue.run(wordCount, limit.signal, async () =>
      findRelaxedResult(request, found.groups, subqueries, await (earlyWords ?? loadWords())),
    )
    if (!relaxed) return { ending: 'not relaxed', result: unrelaxedResult }
    return { ending: 'complete', result: relaxed }
  } catch (error) {
    limit.abort()
    return toFailedAnswer(error, unrelaxedResult)
  } finally {
    // The request for the counts may still be running. After a success it may finish, because
    // aborting it would close a connection that can be used again.
    void Promise.allSettled([earlyWords]).then(limit.end)
  }
}

/** Returns the answer after an error. `unrelaxedResult` is null if the first request failed. */
function toFailedAnswer(error: unknown, unrelaxedResult: SearchResult | null): EngineAnswer {
  const isEngineFailure = error instanceof EngineFailure
  const cause = isEngineFailure ? error.cause : error
  const ending = isEngineFailure ? classifyFailure(cause) : 'defect'
  const failedAnswer: EngineAnswer = { ending, result: null, error: cause }
  if (unrelaxedResult === null) return failedAnswer
  // If relaxing the query took too long, the unrelaxed result is sent even if it has no hits. The
  // caller has already waited for the whole time limit, and many such searches would overload
  // PostgreSQL. After any other failure, an unrelaxed result without hits is not sent.
  const isUseful = cause instanceof EngineTimeout || unrelaxedResult.total > 0
  if (!isUseful) return failedAnswer
  return {
    ending: ending === 'timeout' ? 'relaxation timeout' : ending,
    result: unrelaxedResult,
    error: cause,
  }
}

/**
 * Requests the hits of all groups. For a later page, the engine skips hits of the group `words`. If
 * it has skipped too many, requests all groups again, from their beginning.
 */
async function requestHitGroups(
  engine: SearchEngine,
  request: ParsedRequest,
  indexName: string,
  signal: AbortSignal,
): Promise<FoundHitGroups> {
  const found = await sendGroupQueries(engine, planHitGroups(request, indexName), signal)
  const groupsBeforeWords = found.groups.filter(({ kind }) => kind !== 'words')
  const hitsBeforeWords = sumTotals(groupsBeforeWords)
  if (!hasSkippedTooMany(found.skippedHits, hitsBeforeWords, request.offset)) return found
  return sendGroupQueries(engine, planHitGroups(request, indexName, { maySkipHits: false }), signal)
}

function sumTotals(groups: HitGroupResult[]): number {
  return groups.reduce((sum, { result }) => sum + result.estimatedTotalHits, 0)
}

/** Sends the queries of all groups in one request. */
async function sendGroupQueries(
  engine: SearchEngine,
  { groups, skippedHits }: PlannedHitGroups,
  signal: AbortSignal,
): Promise<FoundHitGroups> {
  const queries = groups.flatMap(({ query, topHitsQuery }): EngineQuery[] =>
    topHitsQuery ? [query, topHitsQuery] : [query],
  )
  const resultOf = await requestResults(engine, queries, signal)
  const results = groups.map(({ kind, query, topHitsQuery = query }) => ({
    kind,
    result: resultOf(query),
    topHits: resultOf(topHitsQuery).hits.slice(0, topHitCount),
  }))
  return { groups: results, skippedHits }
}

/**
 * Whether to relax the query. It is not relaxed in three cases: relaxing it cannot find more
 * products (canRelax), a code was found, or the first hit of a group contains all the words.
 */
function needsRelaxation(query: ParsedQuery, groups: HitGroupResult[]): boolean {
  if (!canRelax(query)) return false
  // Pinned products need not match.
  const matching = groups.filter(({ kind }) => kind !== 'pinned')
  const hasCode = matching.some(({ kind, result }) => !usesWords(kind) && result.hits.length > 0)
  const bestHits = matching.flatMap(({ topHits }) => topHits.slice(0, 1))
  return !hasCode && bestHits.every((hit) => missesWords(hit, query.engineText.words))
}

/**
 * Relaxes the query and returns the requested page. Throws an `EngineFailure` if the engine does
 * not answer.
 */
async function findRelaxedResult(
  request: ParsedRequest,
  groups: HitGroupResult[],
  subqueries: Subqueries,
  words: QueryWord[],
): Promise<SearchResult> {
  const topHits = groups.filter(({ kind }) => usesWords(kind)).map((group) => group.topHits)
  const relaxed = await relaxQuery(subqueries, words, request.query.synonyms, topHits)
  return buildRelaxedResult(request, groups, relaxed)
}

/**
 * Returns the requested page of what a relaxed query has found. Pinned products come first, even if
 * they have none of the words. The highlights are computed by comparison and only for this page.
 * The engine would have to report the positions of words for every hit of every subquery.
 */
function buildRelaxedResult(
  { offset, limit, facets, query }: ParsedRequest,
  groups: HitGroupResult[],
  relaxed: { hits: EngineHit[]; matcher: QueryWordMatcher },
): SearchResult {
  const pinned = putInPinnedOrder(
    groups.find(({ kind }) => kind === 'pinned')?.result.hits ?? [],
    query.pinnedSkus,
  )
  const pinnedIds = new Set(pinned.map(({ id }) => id))
  const hits = [...pinned, ...relaxed.hits.filter(({ id }) => !pinnedIds.has(id))]
  return {
    hits: hits.slice(offset, offset + limit).map((hit) => {
      const matches = pinnedIds.has(hit.id) ? [] : relaxed.matcher.listMatches(hit)
      const words = new Set([...query.highlight.words, ...matches])
      return toHit(hit, highlightByComparison(hit, { ...query.highlight, words }))
    }),
    total: Math.min(maxTotal, hits.length),
    facets: countFacets(facets, hits),
    facetsOmitted: false,
  }
}

/** Returns the requested page of what the groups contain. */
function mergeHitGroups(
  { query, offset, limit, facets }: ParsedRequest,
  { groups, skippedHits }: FoundHitGroups,
): SearchResult {
  const hits = groups.flatMap(({ kind, result }) =>
    orderHits(result.hits, kind, query).map((hit) => ({ kind, hit })),
  )
  const start = findPageStart(skippedHits, offset)
  return {
    hits: hits
      .slice(start, start + limit)
      .map(({ kind, hit }) => toHit(hit, highlightHit(hit, kind, query))),
    total: Math.min(maxTotal, sumTotals(groups)),
    facets: sumFacetCounts(
      facets,
      groups.map(({ result }) => result),
    ),
    facetsOmitted: false,
  }
}

function orderHits(hits: EngineHit[], kind: HitGroupKind, query: ParsedQuery): EngineHit[] {
  if (kind === 'exact-sku') return putExactSpellingFirst(hits, query.text)
  return kind === 'pinned' ? putInPinnedOrder(hits, query.pinnedSkus) : hits
}

function highlightHit(hit: EngineHit, kind: HitGroupKind, query: ParsedQuery): Hit['highlights'] {
  if (kind === 'exact-sku') return { sku: [[0, hit.sku.length]] }
  if (kind === 'pinned') return highlightByComparison(hit, query.highlight)
  return highlightEngineHit(hit, query.highlight)
}

/** Returns what a hit shows, without what the engine says about the match. */
function toHit(hit: EngineHit, highlights: Hit['highlights']): Hit {
  const shown = Object.fromEntries(shownAttributes.map((name) => [name, hit[name]]))
  return { ...(shown as Pick<EngineHit, (typeof shownAttributes)[number]>), highlights }
}
