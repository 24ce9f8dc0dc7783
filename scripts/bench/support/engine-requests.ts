// The requests that the endpoint sends to Meilisearch, so that a benchmark can send them directly.

import { searchInEngine } from '../../../src/search/engine-query.ts'
import {
  type EngineQuery,
  engineTimeout,
  openSearchEngine,
} from '../../../src/search-engine/client.ts'
import { parseQuery } from '../../../src/text/parse-query.ts'
import type { BenchService } from './bench-service.ts'

/**
 * Records the request that the endpoint sends first to the engine for each text, and for how many
 * texts it relaxes the query with another one.
 */
export async function recordEngineRequests(
  { meiliUrl, meiliKey, indexName }: BenchService,
  trace: string[],
) {
  // This process measures no search, and an engine that has just started may be slow.
  engineTimeout.ms = 60_000
  const engine = openSearchEngine(meiliUrl, meiliKey)
  const requests = new Map<string, string>()
  let withMoreRequests = 0
  for (const text of new Set(trace)) {
    let first: EngineQuery[] | undefined
    let sent = 0
    const recording = {
      ...engine,
      search(queries: EngineQuery[], signal: AbortSignal) {
        sent++
        first ??= queries
        return engine.search(queries, signal)
      },
    }
    const { error } = await searchInEngine(
      recording,
      indexName,
      { text, query: parseQuery(text.trim()), limit: 8, offset: 0, facets: [] },
      new AbortController().signal,
    )
    if (error !== undefined) throw error
    if (sent > 1) withMoreRequests++
    requests.set(text, JSON.stringify({ queries: first }))
  }
  engine.close()
  return { requests, withMoreRequests }
}
