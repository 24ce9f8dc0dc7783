// Splits the hits of a search into parts, which are shown one after the other, and plans the engine
// query of each. All queries are sent in one request (search-in-engine.ts). docs/search.md lists
// all that decides the order of hits.
import { shownAttributes } from '../../search-engine/document-fields.ts'
import type { EngineQuery } from '../../search-engine/search-client.ts'
import type { ParsedQuery } from '../../text/parse-query.ts'
import { canBeginHsCode, toPinKey } from '../../text/sku-and-hs-codes.ts'
import { canRelax } from '../relaxation/query-words.ts'
import type { ParsedRequest, SearchRequest } from '../schema.ts'
import { maxOrderedSkus } from './order-within-parts.ts'

/**
 * What selects the products of a part:
 * - `exact-sku`: the SKU equals the query, except for case and separators (its key). If many SKUs
 *   may have the same key, there are two parts of this kind: first the SKUs that also have the same
 *   symbols and digits of other scripts, then all others with the same key.
 * - `pinned`: the company puts the SKU first for this query. Case and separators do not matter.
 * - `partial-code`: a SKU contains the query, or an HS code begins with it, except for separators.
 * - `enye-names`: the name has every typed word with ñ (eñe), and matches the words.
 * - `words`: the remaining products that match the words.
 */
export type PartKind = 'exact-sku' | 'pinned' | 'partial-code' | 'enye-names' | 'words'

export type HitPart = {
  kind: PartKind
  /** The engine skips `offset` hits of the part. */
  query: EngineQuery & { offset: number }
  /** Requests the first hits of the part, if `query` skips hits and they are needed. */
  firstHitsQuery?: EngineQuery
}

/**
 * How many of the best hits of a part are its first hits (PartResult in search-in-engine.ts). This
 * number must not depend on the size of the page.
 */
export const firstHitCount = 8

/** Whether the words of the query select the products of a part. */
export function usesWords(kind: PartKind): boolean {
  return kind === 'words' || kind === 'enye-names'
}

/** Whether the service orders the few products of a part itself (order-within-parts.ts). */
function isOrderedByService(kind: PartKind): boolean {
  return kind === 'exact-sku' || kind === 'pinned'
}

/**
 * Returns the parts in the order in which they are shown, each with its query. No product is in two
 * parts, and together the parts are all products that match, so totals and facet counts can be
 * added. Without `maySkipHits` every part is requested from its beginning.
 */
export function planParts(
  request: ParsedRequest,
  indexName: string,
  { maySkipHits = true }: { maySkipHits?: boolean } = {},
): HitPart[] {
  const { text, searched, code } = request.query
  const hasSeveralWords = searched.words.length > 1
  const partFilters = splitIntoParts(request)
  const hitsUpToPage = request.offset + request.limit
  return partFilters.map(({ kind, filter }) => {
    const offset =
      maySkipHits && kind === 'words' ? countSkippableHits(partFilters, request.offset) : 0
    const query: HitPart['query'] = {
      indexUid: indexName,
      q: usesWords(kind) ? searched.text : '',
      offset,
      limit: Math.max(hitsUpToPage - offset, minLimit(kind, hasSeveralWords)),
      filter,
      facets: request.facets,
      matchingStrategy: code.isOnlyCode ? 'all' : 'frequency',
      attributesToRetrieve: shownAttributes,
      showMatchesPosition: true,
      ...(text === '' && { sort: ['quotedRank:asc'] }),
      ...(hasSeveralWords && { showRankingScoreDetails: true }),
    }
    const lacksFirstHits = offset > 0 && canRelax(request.query)
    return { kind, query, ...(lacksFirstHits && { firstHitsQuery: toFirstHitsQuery(query) }) }
  })
}

type PartFilter = { kind: PartKind; filter: string[] }

/** Returns the parts in their order. The products of a part match all of its filters. */
function splitIntoParts(request: ParsedRequest): PartFilter[] {
  const { query } = request
  const parts: PartFilter[] = []
  let remaining = toEngineFilters(request)
  const addPart = (kind: PartKind, condition: string) => {
    parts.push({ kind, filter: [...remaining, condition] })
    remaining = [...remaining, `NOT (${condition})`]
  }
  for (const key of listSkuKeys(query)) addPart('exact-sku', `skuKey = ${quoteFilterValue(key)}`)
  if (query.pinnedSkus.length > 0) addPart('pinned', toPinnedCondition(query.pinnedSkus))
  for (const condition of listPartialCodeConditions(query)) addPart('partial-code', condition)
  if (query.enyeWords.length > 0) addPart('enye-names', toEnyeCondition(query.enyeWords))
  // The engine would treat a text without words as an empty query, which matches everything.
  if (!query.hasNoWords) parts.push({ kind: 'words', filter: remaining })
  return parts
}

/** Returns the engine filters for the category and brand of a request. */
export function toEngineFilters({ category, brand }: SearchRequest): string[] {
  return [
    ...(category === undefined ? [] : [`category = ${quoteFilterValue(category)}`]),
    ...(brand === undefined ? [] : [`brand = ${quoteFilterValue(brand)}`]),
  ]
}

function listSkuKeys({ text, code: { skuKey, distinctSkuKey } }: ParsedQuery): string[] {
  if (text === '') return []
  return distinctSkuKey === undefined ? [skuKey] : [distinctSkuKey, skuKey]
}

function toPinnedCondition(pinnedSkus: readonly string[]): string {
  return `skuKey IN [${pinnedSkus.map((sku) => quoteFilterValue(toPinKey(sku))).join(', ')}]`
}

/**
 * A code is a filter and not a search, because only a filter can be negated for later parts.
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
 * Returns how many hits of the part `words` are probably before the page, so that the engine may
 * skip them. The parts before it also fill pages, but their totals are unknown until the engine has
 * answered. The exact SKU and pins hardly ever have more products than the service orders; other
 * parts may have many, and then nothing can be skipped.
 */
function countSkippableHits(parts: PartFilter[], offset: number): number {
  if (parts.length === 1) return offset
  const before = parts.filter(({ kind }) => kind !== 'words')
  if (!before.every(({ kind }) => isOrderedByService(kind))) return 0
  return Math.max(0, offset - before.length * maxOrderedSkus)
}

function minLimit(kind: PartKind, hasSeveralWords: boolean): number {
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
