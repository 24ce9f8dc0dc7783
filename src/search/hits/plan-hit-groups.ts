// Decides which groups of hits a search has and in which order they are shown. Plans the engine
// query of each group. All queries are sent in one request (search-in-engine.ts). docs/search.md
// lists all that decides the order of hits.
import { shownAttributes } from '../../search-engine/document-fields.ts'
import type { EngineQuery } from '../../search-engine/search-client.ts'
import type { ParsedQuery } from '../../text/parse-query.ts'
import { canBeginHsCode, toPinKey } from '../../text/sku-and-hs-codes.ts'
import { canRelax } from '../relaxation/query-words.ts'
import { facetNames, type ParsedRequest, type SearchRequest } from '../schema.ts'
import { type HitGroupKind, isOrderedByService, usesWords } from './hit-group-kinds.ts'
import { maxOrderedSkus } from './order-within-groups.ts'
import { countSkippableHits } from './skipped-hits.ts'

export type HitGroup = {
  kind: HitGroupKind
  query: EngineQuery
  /**
   * Requests the top hits of the group. Undefined if `query` returns them too, or if the query
   * cannot be relaxed.
   */
  topHitsQuery?: EngineQuery
}

/** The hit groups of a search, in the order in which they are shown. */
export type PlannedHitGroups = {
  groups: HitGroup[]
  /**
   * The engine skips this many hits of the group `words`, and none of any other group
   * (skipped-hits.ts). `words` is the last group.
   */
  skippedHits: number
}

/**
 * The number of top hits: the first hits of a group, even if a later page is requested. The best of
 * them decides whether the query is relaxed. If it is, all top hits are ranked together with the
 * hits of the subqueries.
 */
export const topHitCount = 8

/**
 * Plans the hit groups of a request. Each product that matches is in exactly one group, so totals
 * and facet counts can be added. Without `maySkipHits` every group is requested from its beginning.
 */
export function planHitGroups(
  request: ParsedRequest,
  indexName: string,
  { maySkipHits = true }: { maySkipHits?: boolean } = {},
): PlannedHitGroups {
  const { text, engineText, code } = request.query
  const hasSeveralWords = engineText.words.length > 1
  const groupFilters = splitIntoGroups(request)
  const kinds = groupFilters.map(({ kind }) => kind)
  const skippedHits = maySkipHits ? countSkippableHits(kinds, request.offset) : 0
  const hitsUpToPage = request.offset + request.limit
  const groups = groupFilters.map(({ kind, filter }) => {
    const offset = kind === 'words' ? skippedHits : 0
    const query: EngineQuery = {
      indexUid: indexName,
      q: usesWords(kind) ? engineText.text : '',
      offset,
      limit: Math.max(hitsUpToPage - offset, minLimit(kind, hasSeveralWords)),
      filter,
      facets: request.facets,
      // A code must match as a whole. With `frequency`, products that lack the most frequent words
      // come last. If even the first hit lacks words, the query is relaxed (needsRelaxation).
      matchingStrategy: code.isOnlyCode ? 'all' : 'frequency',
      attributesToRetrieve: shownAttributes,
      showMatchesPosition: true,
      ...(text === '' && { sort: ['quotedRank:asc'] }),
      ...(hasSeveralWords && { showRankingScoreDetails: true }),
    }
    const needsTopHitsQuery = offset > 0 && canRelax(request.query)
    if (!needsTopHitsQuery) return { kind, query }
    // Neither the facets nor the highlights of the top hits are used.
    const topHitsQuery = {
      ...query,
      offset: 0,
      limit: topHitCount,
      facets: [],
      showMatchesPosition: false,
    }
    return { kind, query, topHitsQuery }
  })
  return { groups, skippedHits }
}

type GroupFilter = { kind: HitGroupKind; filter: string[] }

/**
 * Returns the groups in the order in which they are shown. The products of a group match all of its
 * filters. `words` must stay the last group (skipped-hits.ts).
 */
function splitIntoGroups(request: ParsedRequest): GroupFilter[] {
  const { query } = request
  const groups: GroupFilter[] = []
  let remaining = toEngineFilters(request)
  const addGroup = (kind: HitGroupKind, condition: string) => {
    groups.push({ kind, filter: [...remaining, condition] })
    remaining = [...remaining, `NOT (${condition})`]
  }
  for (const key of listSkuKeys(query)) addGroup('exact-sku', `skuKey = ${quoteFilterValue(key)}`)
  if (query.pinnedSkus.length > 0) addGroup('pinned', toPinnedCondition(query.pinnedSkus))
  for (const condition of listPartialCodeConditions(query)) addGroup('partial-code', condition)
  if (query.enyeWords.length > 0) addGroup('enye-names', toEnyeCondition(query.enyeWords))
  // The engine would treat a text without words as an empty query, which matches everything.
  if (!query.isOnlySymbols) groups.push({ kind: 'words', filter: remaining })
  return groups
}

/** Returns the engine filters for the category and brand of a request. */
export function toEngineFilters(request: SearchRequest): string[] {
  return facetNames.flatMap((name) => {
    const value = request[name]
    return value === undefined ? [] : [`${name} = ${quoteFilterValue(value)}`]
  })
}

function listSkuKeys({ text, code: { skuKey, distinctSkuKey } }: ParsedQuery): string[] {
  if (text === '') return []
  return distinctSkuKey === undefined ? [skuKey] : [distinctSkuKey, skuKey]
}

function toPinnedCondition(pinnedSkus: readonly string[]): string {
  return `skuKey IN [${pinnedSkus.map((sku) => quoteFilterValue(toPinKey(sku))).join(', ')}]`
}

/**
 * A code is a filter and not a search, because only a filter can be negated for later groups.
 * `skuForms` has the key of the SKU and its endings, so any part of a SKU begins one of them.
 */
function listPartialCodeConditions({ code }: ParsedQuery): string[] {
  const key = code.partialCodeKey
  if (key === undefined) return []
  const fields = ['skuKey', 'skuForms', ...(canBeginHsCode(key) ? ['hsCode'] : [])]
  return fields.map((field) => `${field} STARTS WITH ${quoteFilterValue(key)}`)
}

function toEnyeCondition(words: string[]): string {
  return words.map((word) => `enye = ${quoteFilterValue(word)}`).join(' AND ')
}

/** Quotes a value so that nothing in it is read as part of the filter. */
function quoteFilterValue(value: string): string {
  return `"${value.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`
}

function minLimit(kind: HitGroupKind, hasSeveralWords: boolean): number {
  if (isOrderedByService(kind)) return maxOrderedSkus
  return usesWords(kind) && hasSeveralWords ? topHitCount : 0
}
