// Plans the queries that are sent to the engine: one for each part of the hits (hit-order.ts).
import { shownAttributes } from '../../search-engine/document-fields.ts'
import type { EngineQuery } from '../../search-engine/search-client.ts'
import type { ParsedRequest } from '../schema.ts'
import {
  type HitPart,
  maxOrderedSkus,
  type PartRule,
  splitIntoParts,
  usesWords,
} from './hit-order.ts'

/**
 * At least this many hits are requested for a query of several words. They decide whether and how
 * the query is relaxed, so they must be the same for every page.
 */
export const firstHitCount = 8

/** The query of a part. The engine skips `offset` hits of the part. */
export type PartQuery = { rule: PartRule; query: EngineQuery & { offset: number } }

/**
 * Returns one engine query for each part, in the order in which the parts are shown. No product is
 * in two parts, and together the parts are all products that match, so totals and facet counts can
 * be added.
 */
export function planQueries(request: ParsedRequest, indexName: string): PartQuery[] {
  const { text, searched, code } = request.query
  const hasSeveralWords = searched.words.length > 1
  const parts = splitIntoParts(request)
  const hitsUpToPage = request.offset + request.limit
  return parts.map(({ rule, filter }) => {
    const offset = rule === 'words' ? countSkippableHits(parts, request.offset) : 0
    const query: PartQuery['query'] = {
      indexUid: indexName,
      q: usesWords(rule) ? searched.text : '',
      offset,
      limit: Math.max(hitsUpToPage - offset, minLimit(rule, hasSeveralWords)),
      filter,
      facets: request.facets,
      matchingStrategy: code.isOnlyCode ? 'all' : 'frequency',
      attributesToRetrieve: shownAttributes,
      showMatchesPosition: true,
      ...(text === '' && { sort: ['quotedRank:asc'] }),
      ...(hasSeveralWords && { showRankingScoreDetails: true }),
    }
    return { rule, query }
  })
}

function minLimit(rule: PartRule, hasSeveralWords: boolean): number {
  if (isOrderedByService(rule)) return maxOrderedSkus
  return usesWords(rule) && hasSeveralWords ? firstHitCount : 0
}

/**
 * Returns how many hits of the part `words` are certainly before the page, so that the engine may
 * skip them. The parts before it also fill pages, but their totals are unknown until the engine has
 * answered. The exact SKU and pins have few products; other parts may have many, and then nothing
 * can be skipped.
 */
function countSkippableHits(parts: HitPart[], offset: number): number {
  if (parts.length === 1) return offset
  const before = parts.filter(({ rule }) => rule !== 'words')
  if (!before.every(({ rule }) => isOrderedByService(rule))) return 0
  return Math.max(0, offset - before.length * maxOrderedSkus)
}

/** Whether the service orders the products of a part itself. There are few of them. */
const isOrderedByService = (rule: PartRule) => rule === 'exact-sku' || rule === 'pinned'

/** Returns a query for the first hits of a part, whatever page was requested. */
export function toFirstHitsQuery({ query }: PartQuery): EngineQuery {
  const { indexUid, q, filter = [] } = query
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
