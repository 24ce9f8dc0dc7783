// What a search shows of the products that it has found: hits, counts by facet, corrections.
import type { FacetName } from '../products/fields.ts'
import { type EngineHit, type EngineResult, maxFacetValues } from '../search-engine/client.ts'
import { shownAttributes } from '../search-engine/document-fields.ts'
import { toFilterKey } from '../text/filter-values.ts'
import { highlight } from './highlights.ts'
import type { Match, ProductOrder, ScoredProduct } from './order.ts'
import type { Facets, Hit, SearchResult } from './schema.ts'

/** Returns what a hit shows. */
export function toHit(product: EngineHit, match: Match, order: ProductOrder): Hit {
  const shown = Object.fromEntries(shownAttributes.map((name) => [name, product[name]]))
  return {
    ...(shown as Pick<EngineHit, (typeof shownAttributes)[number]>),
    highlights: match === 'exact' ? { sku: [[0, product.sku.length]] } : highlight(product, order),
    match,
  }
}

/** Returns the corrections of the first hit, if no hit of the page matches without. */
export function listCorrections(page: ScoredProduct<EngineHit>[]): { from: string; to: string }[] {
  const isCorrected = page.every(({ match }) => match === 'corrected' || match === 'some_words')
  return isCorrected ? (page[0]?.corrections ?? []) : []
}

export function emptyResult(facets: FacetName[]): SearchResult {
  return {
    hits: [],
    total: 0,
    facets: sumFacetCounts(facets, []),
    facetsOmitted: false,
    corrected: [],
    ignored: null,
  }
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
export function countFacets(names: FacetName[], hits: EngineHit[]): Facets {
  return buildFacets(names, (name) => {
    const counts = new ValueCounts()
    for (const { [name]: value } of hits) if (value !== null) counts.add(value, 1)
    return counts.mostFrequent()
  })
}

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
