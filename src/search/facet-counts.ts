// Counts products by the values of the requested facets.

import { maxFacetValues } from '../search-engine/result-limits.ts'
import type { EngineHit, EngineResult } from '../search-engine/search-client.ts'
import type { Facets, SearchRequest } from './schema.ts'

type FacetNames = SearchRequest['facets']

/**
 * Adds the facet counts of results that have no product in common, and returns the 100 most
 * frequent values of each facet. The engine counts the 100 most frequent values of each result, so
 * the counts of rarer values may be too low if there are several results.
 */
export function sumFacetCounts(names: FacetNames, results: EngineResult[]): Facets {
  return buildFacets(names, (name) => {
    const counts: Record<string, number> = {}
    for (const { facetDistribution } of results) {
      for (const [value, count] of Object.entries(facetDistribution?.[name] ?? {}))
        counts[value] = (counts[value] ?? 0) + count
    }
    const mostFrequent = Object.entries(counts).toSorted(([, a], [, b]) => b - a)
    return Object.fromEntries(mostFrequent.slice(0, maxFacetValues))
  })
}

/** Counts the values of each facet among these hits. */
export function countFacets(names: FacetNames, hits: EngineHit[]): Facets {
  return buildFacets(names, (name) => {
    const counts: Record<string, number> = {}
    for (const { [name]: value } of hits)
      if (value !== null) counts[value] = (counts[value] ?? 0) + 1
    return counts
  })
}

/** Returns each requested facet without values. */
export function emptyFacets(names: FacetNames): Facets {
  return buildFacets(names, () => ({}))
}

function buildFacets(
  names: FacetNames,
  count: (name: FacetNames[number]) => Record<string, number>,
): Facets {
  return Object.fromEntries(names.map((name) => [name, count(name)]))
}
