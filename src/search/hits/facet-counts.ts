// Counts products by the values of the requested facets.
import { maxFacetValues } from '../../search-engine/result-limits.ts'
import type { EngineHit, EngineResult } from '../../search-engine/search-client.ts'
import { toFilterKey } from '../../text/filter-values.ts'
import type { FacetName, Facets } from '../schema.ts'

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
