// What a search shows of the products that it has found: hits, counts by facet, corrections.
import type { FacetName } from '../products/fields.ts'
import {
  type EngineHit,
  type EngineResult,
  maxFacetValues,
  maxTotal,
} from '../search-engine/client.ts'
import { shownAttributes } from '../search-engine/document-fields.ts'
import type { ParsedQuery } from '../text/parse-query.ts'
import { toSkuKey } from '../text/sku-keys.ts'
import { maxEngineWords } from './engine-filters.ts'
import { highlight } from './highlights.ts'
import type { Match, ProductOrder, ScoredProduct } from './order.ts'
import type { Facets, Hit, ParsedRequest, SearchResult } from './schema.ts'

/**
 * What products are found as, in the order in which they are shown. A number is more often a part of
 * a name than of a SKU, so `number` is last: SKUs that contain it.
 */
export const kinds = [
  'sku',
  'exact',
  'pinned',
  'partialCode',
  'words',
  'unfinished',
  'number',
] as const
export type Kind = (typeof kinds)[number]

export type FoundProduct = ScoredProduct<EngineHit> & { kind: Kind }

/** Returns the page of hits. `found` are all products in their order, as far as they are known. */
export function buildResult(
  { query, offset, limit }: ParsedRequest,
  found: FoundProduct[],
  order: ProductOrder,
  counted: Pick<SearchResult, 'total' | 'facets'> & { facetsOmitted?: boolean },
): SearchResult {
  const page = found.slice(offset, offset + limit)
  const { lines, ignored } = matchOrderLines(
    query,
    found.map(({ product }) => product),
  )
  const isCorrected = page.every(({ match }) => match === 'corrected' || match === 'some_words')
  return {
    hits: page.map(({ product, match, kind }) => {
      const isExact = match === 'exact' || lines.has(product.id)
      return toHit(product, isExact ? 'exact' : kind === 'pinned' ? 'words' : match, order)
    }),
    total: Math.min(maxTotal, counted.total),
    facets: counted.facets,
    facetsOmitted: counted.facetsOmitted ?? false,
    // Of the first hit, if no hit of the page matches without.
    corrected: isCorrected ? (page[0]?.corrections ?? []) : [],
    ignored: lines.size > 0 ? ignored : null,
  }
}

/** The same for products that have only a part of the query: no others are counted. */
export function buildRelaxedResult(
  request: ParsedRequest,
  found: FoundProduct[],
  order: ProductOrder,
): SearchResult {
  const products = found.map(({ product }) => product)
  const facets = countFacets(request.facets, products)
  return buildResult(request, found, order, { total: found.length, facets })
}

function toHit(product: EngineHit, match: Match, order: ProductOrder): Hit {
  const shown = Object.fromEntries(shownAttributes.map((name) => [name, product[name]]))
  return {
    ...(shown as Pick<EngineHit, (typeof shownAttributes)[number]>),
    highlights: match === 'exact' ? { sku: [[0, product.sku.length]] } : highlight(product, order),
    match,
  }
}

/** Whether no product has the whole query. Pinned ones need not match. */
export function mustRelax({ tokens, words }: ParsedQuery, found: FoundProduct[]): boolean {
  const isPartial = ({ kind, match, product }: FoundProduct) => {
    if (kind !== 'words' && kind !== 'unfinished') return kind === 'pinned'
    const matched = product._rankingScoreDetails?.words
    const hasAllWords = matched !== undefined && matched.matchingWords === matched.maxMatchingWords
    return match === 'some_words' && !(hasAllWords && words.length <= maxEngineWords)
  }
  return tokens.length > 0 && found.every(isPartial)
}

/** Returns the rank among the products of one kind. The lowest comes first. */
export function rank({ kind, product, score }: FoundProduct, query: ParsedQuery): number {
  if (kind === 'exact' || kind === 'sku') return rankExact(product.sku, query)
  return kind === 'pinned' ? rankPinned(product.sku, query.pinnedSkus) : -score
}

/** The SKU of an earlier line is first, then the longer one, then the one that is typed exactly. */
function rankExact(sku: string, { text, orderLines }: ParsedQuery): number {
  const typed = sku.normalize('NFC')
  const hasTyped = text.includes(typed)
  const spelling = hasTyped ? 0 : text.toLowerCase().includes(typed.toLowerCase()) ? 1 : 2
  const key = toSkuKey(sku)
  const line = orderLines.findIndex((guesses) => guesses.some(({ keys }) => keys.includes(key)))
  return Math.max(0, line) * 100 - key.length * 0.1 + spelling * 0.01
}

/** Another spelling of a pinned SKU is half a place after it. */
function rankPinned(sku: string, pinnedSkus: readonly string[]): number {
  const exact = pinnedSkus.indexOf(sku)
  if (exact >= 0) return exact
  const sameKey = pinnedSkus.findIndex((pinned) => toSkuKey(pinned) === toSkuKey(sku))
  return sameKey < 0 ? pinnedSkus.length : sameKey + 0.5
}

/** Returns the ids of products whose SKU stands beside something else, and what that is. */
function matchOrderLines(
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
 * Adds the facet counts of results that have no product in common, and returns the most frequent
 * values of each facet. The engine counts only the most frequent values of each result, so the
 * counts of rarer values may be too low if there are several results.
 */
export function sumFacetCounts(names: FacetName[], results: EngineResult[]): Facets {
  return buildFacets(names, (name) => {
    const counts = new ValueCounts()
    for (const { facetDistribution } of results)
      for (const [value, count] of Object.entries(facetDistribution?.[name] ?? {}))
        counts.add(value, count)
    return counts.mostFrequent()
  })
}

/** Counts the values of each facet among these hits. */
function countFacets(names: FacetName[], hits: EngineHit[]): Facets {
  return buildFacets(names, (name) => {
    const counts = new ValueCounts()
    for (const { [name]: value } of hits) if (value !== null) counts.add(value, 1)
    return counts.mostFrequent()
  })
}

/**
 * Returns the value in lower case, without surrounding blanks and compatibility forms (½, ﬁ), as
 * Meilisearch compares filters. Accents count. The function filter_key of the database does the
 * same.
 */
const toFilterKey = (value: string) => value.normalize('NFKD').trim().toLowerCase()

/** Groups spellings that a filter treats as equal, and counts each group under its first one. */
class ValueCounts {
  readonly #byKey = new Map<string, { value: string; count: number }>()

  add(value: string, count: number): void {
    const key = toFilterKey(value)
    const entry = this.#byKey.get(key)
    if (entry) entry.count += count
    else this.#byKey.set(key, { value, count })
  }

  mostFrequent(): Record<string, number> {
    const entries = [...this.#byKey.values()].toSorted((a, b) => b.count - a.count)
    return Object.fromEntries(
      entries.slice(0, maxFacetValues).map(({ value, count }) => [value, count]),
    )
  }
}

function buildFacets(
  names: FacetName[],
  count: (name: FacetName) => Record<string, number>,
): Facets {
  return Object.fromEntries(names.map((name) => [name, count(name)]))
}
