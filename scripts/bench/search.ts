// Measures search with a trace of keystrokes: the API with and without its cache, the same requests
// sent to Meilisearch, and a route that only forwards them.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { searchInEngine } from '../../src/search/engine-query.ts'
import {
  type EngineQuery,
  engineTimeout,
  openSearchEngine,
} from '../../src/search-engine/client.ts'
import { parseQuery } from '../../src/text/parse-query.ts'
import { crossedCatalogue, type Product } from './data/catalogues.ts'
import { seeded, shuffle } from './data/seeded-random.ts'
import {
  type Bench,
  type BenchService,
  compare,
  createService,
  measureTimes,
  reportRatio,
  startApi,
  startBaseline,
} from './harness.ts'

export async function measure(bench: Bench): Promise<void> {
  const products = await crossedCatalogue(bench.size(50_000, 500))
  const service = await createService(bench, 'search', products)
  const trace = typeNames(products, bench.size(6_000, 200))
  const bodies = await recordEngineRequests(service, trace)
  const file = join(bench.directory, 'requests.json')
  await writeFile(file, JSON.stringify([...bodies]))
  const { headers, meiliUrl, meiliKey } = service
  const search = (text: string) => ({ path: `/api/search?q=${encodeURIComponent(text)}`, headers })
  const requests = trace.map(search)
  const direct = trace.map((text) => ({
    method: 'POST' as const,
    path: '/multi-search',
    headers: { authorization: `Bearer ${meiliKey}`, 'content-type': 'application/json' },
    body: bodies.get(text) ?? '',
  }))
  const cached = await startApi(bench, 'search', service, { SEARCH_CACHE_MB: '32' })
  const uncached = await startApi(bench, 'search', service, { SEARCH_CACHE_MB: '0' })
  const forward = await startBaseline(bench, 'forward', meiliUrl, meiliKey, file)
  const rates = await compare(
    {
      direct: { url: meiliUrl, requests: direct },
      forward: { url: forward.url, requests },
      uncached: { url: uncached.url, requests },
      cached: { url: cached.url, requests },
    },
    bench.size(3, 1),
  )
  reportRatio(bench, 'with its cache, of Meilisearch directly', [rates.cached, rates.direct], {
    atLeast: 1.6,
  })
  reportRatio(bench, 'without a cache, of a forwarding route', [rates.uncached, rates.forward], {
    atLeast: 0.9,
  })
  const timed = <Request>(all: Request[]) => all.slice(0, bench.size(500, 40))
  await measureTimes(bench, 'Meilisearch directly, the requests of the next row', {
    url: meiliUrl,
    requests: timed(direct),
  })
  await measureTimes(bench, 'search, not cached', { url: uncached.url, requests: timed(requests) })
  await measureTimes(bench, 'search, cached', { url: cached.url, requests: timed(requests) })
}

/**
 * Returns `count` beginnings of names of products drawn by Zipf's law (s = 1). Each name is typed
 * until the user sees the product, after 4 to 16 keys.
 */
function typeNames(products: Product[], count: number): string[] {
  const random = seeded('trace')
  const byRank = shuffle([...products], random)
  let total = 0
  const cumulative = byRank.map((_, rank) => (total += 1 / (rank + 1)))
  const typed: string[] = []
  while (typed.length < count) {
    const drawn = random.next() * total
    const name = byRank[cumulative.findIndex((sum) => sum >= drawn)]?.name.toLowerCase() ?? ''
    const keys = 4 + random.below(13)
    for (let length = 1; length <= Math.min(keys, name.length); length++)
      if (name[length - 1] !== ' ') typed.push(name.slice(0, length))
  }
  return typed.slice(0, count)
}

/** Returns the first request that the API sends to the engine for each text. */
async function recordEngineRequests(
  { meiliUrl, meiliKey, indexName }: BenchService,
  texts: string[],
): Promise<Map<string, string>> {
  // This process measures no search, and an engine that has just started may be slow.
  engineTimeout.ms = 60_000
  const engine = openSearchEngine(meiliUrl, meiliKey)
  const bodies = new Map<string, string>()
  for (const text of new Set(texts)) {
    let first: EngineQuery[] | undefined
    const recording = {
      ...engine,
      search(queries: EngineQuery[], signal: AbortSignal) {
        first ??= queries
        return engine.search(queries, signal)
      },
    }
    const request = { text, query: parseQuery(text.trim()), limit: 8, offset: 0, facets: [] }
    const { error } = await searchInEngine(
      recording,
      indexName,
      request,
      new AbortController().signal,
      async (query) => query,
    )
    if (error !== undefined) throw error
    bodies.set(text, JSON.stringify({ queries: first }))
  }
  await engine.close()
  return bodies
}
