// Plans the engine queries of a search: one for each part of the hits, in the order in which the
// parts are shown.
import type { EngineQuery } from '../search-engine/engine-client.ts'
import { shownAttributes } from '../search-engine/product-document.ts'
import { enyeWords } from '../text/enye-words.ts'
import { canBeginHsCode, codeKey, separatedCodeKey } from '../text/product-codes.ts'
import { maxOrderedSkus } from './exact-sku-first.ts'
import type { ParsedQuery } from './query-text.ts'
import type { SearchRequest } from './schema.ts'

/**
 * What selects the products of a part:
 * - `exact-code`: the SKU is the query, except for case and separators.
 * - `separated-code`: a SKU contains the query, or an HS code begins with it, except for
 *   separators.
 * - `enye-names`: the name has every typed word with ñ, and matches the words.
 * - `words`: the remaining products that match the words.
 */
export type PartRule = 'exact-code' | 'separated-code' | 'enye-names' | 'words'

type QueryPart = { rule: PartRule; filter: string[] }
export type PlannedQuery = { rule: PartRule; query: EngineQuery }

/**
 * Plans one engine query for each part. No product is in two parts, and together the parts are all
 * products that match, so totals and facet counts can be added.
 */
export function planQueries(parsed: ParsedQuery, indexName: string): PlannedQuery[] {
  const { request, text, words, isCode } = parsed
  const parts = splitIntoParts(request)
  // Which page of a part is needed depends on the totals of the parts before it. Those are unknown
  // until the engine has answered, so each of several parts is requested from its beginning.
  const isSinglePart = parts.length === 1
  const lastHit = request.offset + request.limit
  return parts.map(({ rule, filter }) => ({
    rule,
    query: {
      indexUid: indexName,
      q: usesWords(rule) ? text : '',
      offset: isSinglePart ? request.offset : 0,
      limit: isSinglePart
        ? request.limit
        : Math.max(lastHit, rule === 'exact-code' ? maxOrderedSkus : 0),
      filter,
      facets: request.facets,
      matchingStrategy: isCode ? 'all' : 'frequency',
      attributesToRetrieve: shownAttributes,
      showMatchesPosition: true,
      ...(request.text === '' && { sort: ['quotedRank:asc'] }),
      ...(words.length > 1 && { showRankingScoreDetails: true }),
    },
  }))
}

/** Returns a query for the best hit of a part, whatever page was requested. */
export function bestHitQuery({ query }: PlannedQuery): EngineQuery {
  const { indexUid, q, filter = [] } = query
  return {
    indexUid,
    q,
    limit: 1,
    filter,
    matchingStrategy: 'frequency',
    attributesToRetrieve: ['id'],
    showRankingScoreDetails: true,
  }
}

/** Whether the words of the query select the products of a part. */
export function usesWords(rule: PartRule): boolean {
  return rule === 'words' || rule === 'enye-names'
}

/** Returns the engine filters for the category and brand of a request. */
export function requestFilters({ category, brand }: SearchRequest): string[] {
  return [
    ...(category === undefined ? [] : [`category = ${quoteFilterValue(category)}`]),
    ...(brand === undefined ? [] : [`brand = ${quoteFilterValue(brand)}`]),
  ]
}

/** Returns the parts in the order in which they are shown. Each excludes the parts before it. */
function splitIntoParts(request: SearchRequest): QueryPart[] {
  const parts: QueryPart[] = []
  let remaining = requestFilters(request)
  for (const { rule, condition, negation } of partConditions(request.text)) {
    parts.push({ rule, filter: [...remaining, condition] })
    remaining = [...remaining, negation]
  }
  return [...parts, { rule: 'words', filter: remaining }]
}

type PartCondition = { rule: PartRule; condition: string; negation: string }

function partConditions(text: string): PartCondition[] {
  return [...exactCodeCondition(text), ...separatedCodeConditions(text), ...enyeCondition(text)]
}

function exactCodeCondition(text: string): PartCondition[] {
  const key = codeKey(text)
  if (!/\d/.test(key)) return []
  const value = quoteFilterValue(key)
  return [{ rule: 'exact-code', condition: `skuKey = ${value}`, negation: `skuKey != ${value}` }]
}

/** A code is a filter and not a search, because only a filter can be negated for later parts. */
function separatedCodeConditions(text: string): PartCondition[] {
  const key = separatedCodeKey(text)
  if (key === undefined) return []
  const fields = ['skuKey', 'skuForms', ...(canBeginHsCode(key) ? ['hsCode'] : [])]
  return fields.map((field) => {
    const condition = `${field} STARTS WITH ${quoteFilterValue(key)}`
    return { rule: 'separated-code', condition, negation: `NOT ${condition}` }
  })
}

function enyeCondition(text: string): PartCondition[] {
  const words = enyeWords(text)
  if (words.length === 0) return []
  const condition = words.map((word) => `enye = ${quoteFilterValue(word)}`).join(' AND ')
  return [{ rule: 'enye-names', condition, negation: `NOT (${condition})` }]
}

/** Quotes a value so that nothing in it is read as part of the filter. */
function quoteFilterValue(value: string): string {
  return `"${value.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`
}
