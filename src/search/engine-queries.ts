// Plans the queries that are sent to the engine: one for each part of the hits (hit-order.ts).
import { shownAttributes } from '../search-engine/document-fields.ts'
import type { EngineQuery } from '../search-engine/search-client.ts'
import { maxOrderedSkus, type PartRule, splitIntoParts, usesWords } from './hit-order.ts'
import type { ParsedRequest } from './schema.ts'

export type PlannedQuery = { rule: PartRule; query: EngineQuery }

/**
 * Returns one engine query for each part, in the order in which the parts are shown. No product is
 * in two parts, and together the parts are all products that match, so totals and facet counts can
 * be added.
 */
export function planQueries(request: ParsedRequest, indexName: string): PlannedQuery[] {
  const { engineText, words, isCode, text } = request.query
  const parts = splitIntoParts(request)
  // Which page of a part is needed depends on the totals of the parts before it. Those are unknown
  // until the engine has answered, so each of several parts is requested from its beginning.
  const isSinglePart = parts.length === 1
  const hitsUpToPage = request.offset + request.limit
  return parts.map(({ rule, filter }) => ({
    rule,
    query: {
      indexUid: indexName,
      q: usesWords(rule) ? engineText : '',
      offset: isSinglePart ? request.offset : 0,
      limit: isSinglePart
        ? request.limit
        : Math.max(hitsUpToPage, rule === 'exact-sku' ? maxOrderedSkus : 0),
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

/** Returns a query for the best hit of a part, whatever page was requested. */
export function toBestHitQuery({ query }: PlannedQuery): EngineQuery {
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
