// The requests that the endpoint sends to Meilisearch, so that a benchmark can send them directly.
import { RelaxationLimit } from '../../../src/search/relaxation-limit.ts'
import { searchInEngine } from '../../../src/search/search-in-engine.ts'
import { type EngineQuery, openSearchEngine } from '../../../src/search-engine/search-client.ts'
import { parseQuery } from '../../../src/text/parse-query.ts'
import type { BenchService } from './bench-service.ts'

/**
 * Records the first request that the endpoint sends to the engine for each text, and for how many
 * texts it sends a second one.
 */
export async function recordEngineRequests(
  { meiliUrl, meiliKey, indexName }: BenchService,
  trace: string[],
) {
  const engine = openSearchEngine(meiliUrl, meiliKey)
  const requests = new Map<string, string>()
  let withSecondRequest = 0
  const relaxations = new RelaxationLimit()
  for (const text of new Set(trace)) {
    let first: EngineQuery[] | undefined
    const recording = {
      ...engine,
      search(queries: EngineQuery[], signal: AbortSignal) {
        if (first) withSecondRequest++
        first ??= queries
        return engine.search(queries, signal)
      },
    }
    await searchInEngine(
      { engine: recording, indexName, relaxations },
      { query: parseQuery(text.trim()), limit: 8, offset: 0, facets: [] },
      AbortSignal.timeout(60_000),
    )
    requests.set(text, JSON.stringify({ queries: first }))
  }
  engine.close()
  return { requests, withSecondRequest }
}
