// Plans the queries that are sent to the engine: one for each part of the hits (hit-order.ts).
import { shownAttributes } from '../search-engine/document-fields.ts'
import type { EngineQuery } from '../search-engine/search-client.ts'
import {
  type HitPart,
  maxOrderedSkus,
  type PartRule,
  splitIntoParts,
  usesWords,
} from './hit-order.ts'
import type { ParsedRequest } from './schema.ts'

/**
 * So many hits of several words are requested at least. A relaxed query begins with them, so they
 * may not depend on the page.
 */
export const firstHits = 8

/** The query of a part. `offset` hits of the part are left out by the engine. */
export type PlannedQuery = { rule: PartRule; offset: number; query: EngineQuery }

/**
 * Returns one engine query for each part, in the order in which the parts are shown. No product is
 * in two parts, and together the parts are all products that match, so totals and facet counts can
 * be added.
 */
export function planQueries(request: ParsedRequest, indexName: string): PlannedQuery[] {
  const { engineText, words, isCode, text } = request.query
  const parts = splitIntoParts(request)
  const hitsUpToPage = request.offset + request.limit
  const planned = parts.map(({ rule, filter }) => {
    const offset = rule === 'words' ? leaveOut(parts, request.offset) : 0
    const minLimit = isOrderedHere(rule) ? maxOrderedSkus : 0
    return { rule, filter, offset, limit: Math.max(hitsUpToPage - offset, minLimit) }
  })
  return planned.map(({ rule, filter, offset, limit }) => ({
    rule,
    offset,
    query: {
      indexUid: indexName,
      q: usesWords(rule) ? engineText : '',
      offset,
      limit: usesWords(rule) && words.length > 1 ? Math.max(limit, firstHits) : limit,
      filter,
      facets: request.facets,
      matchingStrategy: isCode ? 'all' : 'frequency',
      attributesToRetrieve: shownAttributes,
      showMatchesPosition: true,
      ...(text === '' && { sort: ['quotedRank:asc'] }),
      ...(words.length > 1 && { showRankingScoreDetails: true }),
    },
  }))
}

/**
 * Returns how many hits of the words part are before the page in any case. Which page of it is
 * needed depends on the totals of the parts before it, which are unknown until the engine has
 * answered: few products have the exact SKU, but many may have a part of it, or a word with ñ.
 */
function leaveOut(parts: HitPart[], offset: number): number {
  if (parts.length === 1) return offset
  const before = parts.filter(({ rule }) => rule !== 'words')
  if (!before.every(({ rule }) => isOrderedHere(rule))) return 0
  return Math.max(0, offset - before.length * maxOrderedSkus)
}

/** Whether the service orders the products of a part itself. There are few of them. */
const isOrderedHere = (rule: PartRule) => rule === 'exact-sku' || rule === 'pinned'

/** Returns a query for the first hits of a part, whatever page was requested. */
export function toFirstHitsQuery({ query }: PlannedQuery): EngineQuery {
  const { indexUid, q, filter = [] } = query
  return {
    indexUid,
    q,
    limit: firstHits,
    filter,
    matchingStrategy: 'frequency',
    attributesToRetrieve: shownAttributes,
    showRankingScoreDetails: true,
  }
}
