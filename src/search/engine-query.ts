// Searches products in the engine with one request: exact SKUs, pinned products, parts of codes and
// the words and codes of the query. Orders the first hits (order.ts). If no
// product has the whole query, relax.ts asks twice more.

import {
  EngineFailure,
  type EngineHit,
  type EngineQuery,
  type SearchEngine,
} from '../search-engine/client.ts'
import { shownAttributes } from '../search-engine/document-fields.ts'
import type { ParsedQuery } from '../text/parse-query.ts'
import { mayShareSkuKey } from '../text/sku-keys.ts'
import {
  quoteFilterValue,
  toBeginningCondition,
  toCodeCondition,
  toEngineFilters,
  toEngineText,
  toExactCondition,
  toPartialCondition,
  toPinnedCondition,
} from './engine-filters.ts'
import {
  buildResult,
  type FoundProduct,
  type Kind,
  mustRelax,
  rank,
  sumFacetCounts,
} from './hits.ts'
import { ProductOrder } from './order.ts'
import { type Ask, type Correct, relax } from './relax.ts'
import type { ParsedRequest, SearchResult } from './schema.ts'

/** So many of the first hits are ordered here. Later ones keep the order of the engine. */
const orderedHits = 50

type PlannedQuery = { kind: Kind; query: Omit<EngineQuery, 'indexUid'> }

/** What was found. `error`: why relaxing the query failed, so that the result may lack products. */
export type FoundInEngine = { result: SearchResult; error?: unknown }

/** Returns the page of hits. Throws an `EngineFailure` if the engine does not answer. */
export async function searchInEngine(
  engine: SearchEngine,
  indexName: string,
  request: ParsedRequest,
  signal: AbortSignal,
  correct: Correct,
): Promise<FoundInEngine> {
  const { query } = request
  const ask: Ask = (queries) =>
    engine.search(
      queries.map((own) => ({ indexUid: indexName, ...own })),
      signal,
    )
  const planned = planQueries(request)
  const results = await ask(planned.map((own) => own.query))
  const order = new ProductOrder(query)
  const ordered = planned.flatMap(({ kind }, index) =>
    orderHits(kind, results[index]?.hits ?? [], order, query),
  )
  const total = results.reduce((sum, { estimatedTotalHits }) => sum + estimatedTotalHits, 0)
  const build = () =>
    buildResult(request, ordered, order, {
      total,
      facets: sumFacetCounts(request.facets, results),
    })
  if (!mustRelax(query, ordered)) return { result: build() }
  const pinned = ordered.filter(({ kind }) => kind === 'pinned')
  const found = ordered.slice(0, orderedHits).map(({ product }) => product)
  try {
    return { result: await relax(ask, correct, request, pinned, found) }
  } catch (error) {
    // What the first request has found is better than nothing. After a timeout even nothing is,
    // because the caller has waited long, and many such searches would overload PostgreSQL.
    const isTimeout = error instanceof EngineFailure && error.outcome === 'timeout'
    if (total === 0 && !isTimeout) throw error
    return { result: build(), error }
  }
}

/** Orders the hits of a query. Later hits than `orderedHits` keep the order of the engine. */
function orderHits(
  kind: Kind,
  hits: EngineHit[],
  order: ProductOrder,
  query: ParsedQuery,
): FoundProduct[] {
  if (query.text === '')
    return hits.map((product) => ({
      product,
      kind,
      match: 'words',
      score: 0,
      held: 0,
      corrections: [],
    }))
  const scored = hits.map((hit, place) => ({ ...order.score(hit, place), kind }))
  const first = scored.slice(0, orderedHits).toSorted((a, b) => rank(a, query) - rank(b, query))
  return [...first, ...scored.slice(orderedHits)]
}

/**
 * Returns the queries of the request. A product is found by one of them only, so totals and facet
 * counts can be added.
 */
function planQueries(request: ParsedRequest): PlannedQuery[] {
  const { query, facets, offset, limit } = request
  const planned: PlannedQuery[] = []
  let remaining = toEngineFilters(request)
  const add = (kind: Kind, q: string, conditions: string[]) => {
    planned.push({
      kind,
      query: {
        q,
        limit: Math.max(offset + limit, query.text === '' ? 0 : orderedHits),
        filter: [...remaining, ...conditions],
        facets,
        matchingStrategy: 'frequency',
        attributesToRetrieve: shownAttributes,
        ...(query.text === '' && { sort: ['quotedRank:asc'] }),
        ...(query.words.length > 1 && q !== '' && { showRankingScoreDetails: true }),
      },
    })
    if (conditions.length > 0) remaining = [...remaining, `NOT (${conditions.join(' AND ')})`]
  }
  if (query.text === '') {
    add('words', '', [])
    return planned
  }
  const partial = toPartialCondition(query)
  // More SKUs than are ordered here may have the key of a short one, or of one with odd signs.
  if (query.tokens.length < 2 || mayShareSkuKey(query.text))
    add('sku', '', [`sku = ${quoteFilterValue(query.text)}`])
  add('exact', '', [toExactCondition(query)])
  if (query.pinnedSkus.length > 0) add('pinned', '', [toPinnedCondition(query.pinnedSkus)])
  if (partial !== null && !query.isAmount) {
    add('partialCode', '', [toBeginningCondition(query)])
    add('partialCode', '', [partial])
  }
  if (query.tokens.length === 0) return planned
  const q = toEngineText(query.words)
  const codes = query.codes.map((token) => toCodeCondition(token, false))
  if (codes.length > 0 || q !== '') add('words', q, codes)
  // The last code may be unfinished.
  if (query.codes.some(({ isLast }) => isLast))
    add(
      'unfinished',
      q,
      query.codes.map((token) => toCodeCondition(token, true)),
    )
  if (partial !== null && query.isAmount) add('number', '', [partial])
  return planned
}
