// The requests that the endpoint sends to Meilisearch, so that a benchmark can send them directly.

import { RelaxationForecast } from '../../../src/search/relaxation/relaxation-forecast.ts'
import { RelaxationQueue } from '../../../src/search/relaxation/relaxation-queue.ts'
import { searchInEngine } from '../../../src/search/search-in-engine.ts'
import {
  type EngineQuery,
  engineTimeout,
  openSearchEngine,
} from '../../../src/search-engine/search-client.ts'
import { parseQuery } from '../../../src/text/parse-query.ts'
import type { BenchService } from './bench-service.ts'

/**
 * Records the request for hits that the endpoint sends first to the engine for each text, and for
 * how many texts it sends other requests too. One such request counts the products of each word.
 * It may be sent before the request for hits, and its answer has no hits.
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
  const relaxationQueue = new RelaxationQueue()
  const relaxationForecast = new RelaxationForecast()
  for (const text of new Set(trace)) {
    let first: EngineQuery[] | undefined
    let sent = 0
    const recording = {
      ...engine,
      search(queries: EngineQuery[], signal: AbortSignal) {
        sent++
        if (queries.some(({ limit }) => limit > 0)) first ??= queries
        return engine.search(queries, signal)
      },
    }
    const answer = await searchInEngine(
      { indexName, relaxationQueue, relaxationForecast },
      recording,
      { text, query: parseQuery(text.trim()), limit: 8, offset: 0, facets: [] },
      new AbortController().signal,
    )
    if (answer.ending !== 'complete') throw new Error(`a search has failed: ${answer.ending}`)
    if (sent > 1) withMoreRequests++
    requests.set(text, JSON.stringify({ queries: first }))
  }
  engine.close()
  return { requests, withMoreRequests }
}
