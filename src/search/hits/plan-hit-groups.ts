// Decides which groups of hits a search has and in which order they are shown, and plans the engine
// query of each. All queries are sent in one request (search-in-engine.ts). docs/search.md lists
// all that decides the order of hits.
import { shownAttributes } from '../../search-engine/document-fields.ts'
import type { EngineQuery } from '../../search-engine/search-client.ts'
import type { ParsedQuery } from '../../text/parse-query.ts'
import { canBeginHsCode, toPinKey } from '../../text/sku-and-hs-codes.ts'
import { canRelax } from '../relaxation/query-words.ts'
import { facetNames, type ParsedRequest, type SearchRequest } from '../schema.ts'
import { maxOrderedSkus } from './order-within-groups.ts'

/**
 * What selects the products of a hit group:
 * - `exact-sku`: the SKU equals the query, except for case and separators (its key). If many SKUs
 *   may have the same key, there are two groups of this kind: first the SKUs that also have the
 *   same symbols and digits of other scripts, then all others with the same key.
 * - `pinned`: the company puts the SKU first for this query. Case and separators do not matter.
 * - `partial-code`: a SKU contains the query, or an HS code begins with it, except for separators.
 * - `enye-names`: the name has every typed word with ñ (eñe), and matches the words.
 * - `words`: the remaining products that match the words.
 */
export type HitGroupKind = 'exact-sku' | 'pinned' | 'partial-code' | 'enye-names' | 'words'

export type HitGroup = {
  kind: HitGroupKind
  query: EngineQuery
  /**
   * Requests the first hits of the group. Only if `query` skips them, and the query may be relaxed.
   */
  firstHitsQuery?: EngineQuery
}

/** The hit groups of a search, in the order in which they are shown. */
export type PlannedHitGroups = {
  groups: HitGroup[]
  /**
   * The engine skips this many hits of the group `words`, and none of any other group. `words` is
   * the last group. If the groups before it have 3 products, its first hit is number 3 of all hits,
   * counted from 0. If it skips 800 hits, these are the numbers 3 to 802.
   *
   * The page is complete if all skipped hits are before it: the total of the groups before `words`
   * plus `skippedHits` is at most the offset. This total is exact, because hits are skipped only if
   * these groups have filters and no text. The engine only estimates the total of a text.
   */
  skippedHits: number
}

/**
 * The number of first hits: the best hits of a group, even if a later page is requested. The very
 * first one decides whether the query is relaxed. If it is, all first hits are ranked together with
 * what the subqueries find.
 */
export const firstHitCount = 8

/** Whether the words of the query select the products of a group. */
export function usesWords(kind: HitGroupKind): boolean {
  return kind === 'words' || kind === 'enye-names'
}

/** Whether the service orders the few products of a group itself (order-within-groups.ts). */
function isOrderedByService(kind: HitGroupKind): boolean {
  return kind === 'exact-sku' || kind === 'pinned'
}

/**
 * Plans the hit groups of a request. No product is in two groups, and together the groups are all
 * products that match, so totals and facet counts can be added. Without `maySkipHits` every group
 * is requested from its beginning.
 */
export function planHitGroups(
  request: ParsedRequest,
  indexName: string,
  { maySkipHits = true }: { maySkipHits?: boolean } = {},
): PlannedHitGroups {
  const { text, engineText, code } = request.query
  const hasSeveralWords = engineText.words.length > 1
  const orderedGroups = splitIntoGroups(request)
  const skippedHits = maySkipHits ? countSkippableHits(orderedGroups, request.offset) : 0
  const hitsUpToPage = request.offset + request.limit
  const groups = orderedGroups.map(({ kind, filter }) => {
    const offset = kind === 'words' ? skippedHits : 0
    const query: EngineQuery = {
      indexUid: indexName,
      q: usesWords(kind) ? engineText.text : '',
      offset,
      limit: Math.max(hitsUpToPage - offset, minLimit(kind, hasSeveralWords)),
      filter,
      facets: request.facets,
      // With `frequency`, products that lack the most frequent words come last. If even the first
      // hit lacks words, the query is relaxed (needsRelaxation). A code must match as a whole.
      matchingStrategy: code.isOnlyCode ? 'all' : 'frequency',
      attributesToRetrieve: shownAttributes,
      showMatchesPosition: true,
      ...(text === '' && { sort: ['quotedRank:asc'] }),
      ...(hasSeveralWords && { showRankingScoreDetails: true }),
    }
    const needsFirstHitsQuery = offset > 0 && canRelax(request.query)
    return { kind, query, ...(needsFirstHitsQuery && { firstHitsQuery: toFirstHitsQuery(query) }) }
  })
  return { groups, skippedHits }
}

type GroupFilter = { kind: HitGroupKind; filter: string[] }

/**
 * Returns the groups in the order in which they are shown. The products of a group match all of its
 * filters. `words` must stay the last group (`skippedHits` of PlannedHitGroups).
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
  const key = code.possibleKey
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

/**
 * Returns how many hits of the group `words` the engine may skip, because they are probably before
 * the page (`skippedHits` of PlannedHitGroups). The totals of the groups before `words` are not
 * known yet, so each is assumed to have at most `maxOrderedSkus` products. For example, with one
 * such group and the offset 1000, 800 hits are skipped. If a group has more products,
 * `hasSkippedTooMany` (search-in-engine.ts) notices it, and everything is requested again.
 *
 * Returns 0 if there is a group of partial codes or of names with ñ: it may have many products.
 */
function countSkippableHits(groups: GroupFilter[], offset: number): number {
  const before = groups.filter(({ kind }) => kind !== 'words')
  if (before.length === groups.length) return 0
  if (!before.every(({ kind }) => isOrderedByService(kind))) return 0
  return Math.max(0, offset - before.length * maxOrderedSkus)
}

function minLimit(kind: HitGroupKind, hasSeveralWords: boolean): number {
  if (isOrderedByService(kind)) return maxOrderedSkus
  return usesWords(kind) && hasSeveralWords ? firstHitCount : 0
}

function toFirstHitsQuery({ indexUid, q, filter = [] }: EngineQuery): EngineQuery {
  return {
    indexUid,
    q,
    limit: firstHitCount,
    filter,
    matchingStrategy: 'frequency',
    attributesToRetrieve: shownAttributes,
    showRankingScoreDetails: true,
  }
}
