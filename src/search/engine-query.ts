// Searches products in the engine with one request: exact SKUs, pinned products, parts of codes and
// the words and codes of the query. Orders the first hits (order.ts). If no
// product has the whole query, relax.ts asks once more.

import {
  EngineFailure,
  type EngineHit,
  type EngineQuery,
  maxTotal,
  type SearchEngine,
} from '../search-engine/client.ts'
import { shownAttributes } from '../search-engine/document-fields.ts'
import type { ParsedQuery } from '../text/parse-query.ts'
import { toSkuKey } from '../text/sku-keys.ts'
import {
  maxEngineWords,
  quoteFilterValue,
  toBeginningCondition,
  toCodeCondition,
  toEngineFilters,
  toEngineText,
  toEnyeCondition,
  toExactCondition,
  toPartialCondition,
  toPinnedCondition,
} from './engine-filters.ts'
import { emptyResult, listCorrections, sumFacetCounts, toHit } from './hits.ts'
import { ProductOrder, type ScoredProduct } from './order.ts'
import { relax } from './relax.ts'
import type { ParsedRequest, SearchResult } from './schema.ts'

/** So many of the first hits are ordered here. Later ones keep the order of the engine. */
const orderedHits = 50

/**
 * What the queries of a request look for, in the order in which their products are shown. A number
 * is more often a part of a name than of a SKU, so `number` is last: SKUs that contain it.
 */
const kinds = [
  'sku',
  'exact',
  'pinned',
  'partialCode',
  'enye',
  'words',
  'unfinished',
  'number',
] as const
type Kind = (typeof kinds)[number]

type PlannedQuery = { kind: Kind; query: EngineQuery }
type FoundProduct = ScoredProduct<EngineHit> & { kind: Kind }

/** What was found. `error`: why relaxing the query failed, so that the result may lack products. */
export type FoundInEngine = { result: SearchResult; error?: unknown }

/** Returns the page of hits. Throws an `EngineFailure` if the engine does not answer. */
export async function searchInEngine(
  engine: SearchEngine,
  indexName: string,
  request: ParsedRequest,
  signal: AbortSignal,
): Promise<FoundInEngine> {
  const { query, offset, limit, facets } = request
  const planned = planQueries(request, indexName)
  if (planned.length === 0) return { result: emptyResult(facets) }
  const results = await engine.search(
    planned.map((own) => own.query),
    signal,
  )
  const order = new ProductOrder(query)
  const ordered = planned.flatMap(({ kind }, index) =>
    orderHits(kind, results[index]?.hits ?? [], order, query),
  )
  const page = ordered.slice(offset, offset + limit)
  const { lines, ignored } = matchOrderLines(
    query,
    ordered.map(({ product }) => product),
  )
  const result: SearchResult = {
    hits: page.map(({ product, match, kind }) => {
      const isExact = match === 'exact' || lines.has(product.id)
      return toHit(product, isExact ? 'exact' : kind === 'pinned' ? 'words' : match, order)
    }),
    total: Math.min(
      maxTotal,
      results.reduce((sum, { estimatedTotalHits }) => sum + estimatedTotalHits, 0),
    ),
    facets: sumFacetCounts(facets, results),
    facetsOmitted: false,
    corrected: listCorrections(page),
    ignored: lines.size > 0 ? ignored : null,
  }
  if (!mustRelax(query, ordered)) return { result }
  const pinned = ordered.filter(({ kind }) => kind === 'pinned')
  const found = ordered.slice(0, orderedHits).map(({ product }) => product)
  try {
    return { result: await relax(engine, indexName, request, pinned, found, signal) }
  } catch (error) {
    // What the first request has found is better than nothing. After a timeout even nothing is,
    // because the caller has waited long, and many such searches would overload PostgreSQL.
    const isTimeout = error instanceof EngineFailure && error.outcome === 'timeout'
    if (result.total === 0 && !isTimeout) throw error
    return { result, error }
  }
}

/** Whether no hit has the whole query. Pinned products need not match. */
function mustRelax(query: ParsedQuery, ordered: FoundProduct[]): boolean {
  if (query.tokens.length === 0) return false
  return ordered
    .filter(({ kind }) => kind !== 'pinned')
    .every(({ kind, match, product }) => {
      if (kind === 'sku' || kind === 'exact' || kind === 'partialCode' || kind === 'number')
        return false
      const words = product._rankingScoreDetails?.words
      const hasAllWords = words !== undefined && words.matchingWords === words.maxMatchingWords
      return match === 'some_words' && !(hasAllWords && query.words.length <= maxEngineWords)
    })
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
  const place = ({ product, score }: FoundProduct) => {
    if (kind === 'exact' || kind === 'sku') return rankExact(product.sku, query)
    return kind === 'pinned' ? rankPinned(product.sku, query.pinnedSkus) : -score
  }
  const first = scored.slice(0, orderedHits).toSorted((a, b) => place(a) - place(b))
  return [...first, ...scored.slice(orderedHits)]
}

/** The SKU of an earlier line is first, then the longer one, then the one that is typed exactly. */
export function rankExact(sku: string, { text, orderLines }: ParsedQuery): number {
  const typed = sku.normalize('NFC')
  const hasTyped = text.includes(typed)
  const spelling = hasTyped ? 0 : text.toLowerCase().includes(typed.toLowerCase()) ? 1 : 2
  const key = toSkuKey(sku)
  const line = orderLines.findIndex((guesses) => guesses.some(({ keys }) => keys.includes(key)))
  return Math.max(0, line) * 100 - key.length * 0.1 + spelling * 0.01
}

/** Another spelling of a pinned SKU is half a place after it. */
export function rankPinned(sku: string, pinnedSkus: readonly string[]): number {
  const exact = pinnedSkus.indexOf(sku)
  if (exact >= 0) return exact
  const sameKey = pinnedSkus.findIndex((pinned) => toSkuKey(pinned) === toSkuKey(sku))
  return sameKey < 0 ? pinnedSkus.length : sameKey + 0.5
}

/** Returns the ids of products whose SKU stands beside something else, and what that is. */
export function matchOrderLines(
  { orderLines, skuKeys }: ParsedQuery,
  hits: Pick<EngineHit, 'id' | 'sku'>[],
): { lines: Set<string>; ignored: string | null } {
  const lines = new Set<string>()
  const ignored: string[] = []
  if (hits.some(({ sku }) => skuKeys.includes(toSkuKey(sku)))) return { lines, ignored: null }
  for (const guesses of orderLines) {
    const guess = guesses.find(({ keys }) => hits.some(({ sku }) => keys.includes(toSkuKey(sku))))
    if (!guess) continue
    if (guess.ignored !== '') ignored.push(guess.ignored)
    for (const { sku, id } of hits) if (guess.keys.includes(toSkuKey(sku))) lines.add(id)
  }
  return { lines, ignored: ignored.length > 0 ? ignored.join(' ') : null }
}

/**
 * Returns the queries of the request. A product is found by one of them only, so totals and facet
 * counts can be added.
 */
function planQueries(request: ParsedRequest, indexName: string): PlannedQuery[] {
  const { query, facets, offset, limit } = request
  const planned: PlannedQuery[] = []
  let remaining = toEngineFilters(request)
  const add = (kind: Kind, q: string, conditions: string[]) => {
    planned.push({
      kind,
      query: {
        indexUid: indexName,
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
  if (query.enyeWords.length > 0) add('enye', q, [...codes, toEnyeCondition(query.enyeWords)])
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
