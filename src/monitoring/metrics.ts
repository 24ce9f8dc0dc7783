// What operations sees of the inside. Features are handed the small parts of it and tell them what happens; /metrics shows it all.
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'
import { type Latencies, latencies, type Sample, shownRoute } from './request-latency.ts'

export type Metrics = {
  requests: Latencies
  search: { answered(by: 'cache' | 'index' | 'database'): void; available(yes: boolean): void }
  stats: { answered(how: string): void }
  shedding: { refused(route: string | undefined): void }
  /** What the features have told so far. */
  told: {
    search: Map<string, number>
    stats: Map<string, number>
    refused: Map<string, number>
    breakerOpen: boolean
  }
}

/** How far an index is behind. */
export type IndexProgress = {
  indexedAt: Date | null
  lagSeconds: number | null
  pending: number
  parked: number
}
type Pool = { totalCount: number; idleCount: number; waitingCount: number }

export type MetricsSources = {
  metrics: Metrics
  pool: Pool
  index: () => Promise<IndexProgress | null>
  dependencies: () => Promise<Record<string, boolean>>
}

const searchRoute = '/api/search'
const statsRoute = '/api/stats'
const endpoints = [searchRoute, statsRoute, '/quote/share/:token']

/** Counters at nothing. */
export function startMetrics(): Metrics {
  const search = new Map(['cache', 'index', 'database'].map((by) => [by, 0]))
  const stats = new Map(['hit', 'shared', 'miss', 'collapsed', 'stale'].map((how) => [how, 0]))
  const refused = new Map(endpoints.map((route) => [shownRoute(route), 0]))
  const told = { search, stats, refused, breakerOpen: false }
  const count = (counts: Map<string, number>, name: string) =>
    void counts.set(name, (counts.get(name) ?? 0) + 1)
  return {
    requests: latencies(endpoints),
    search: {
      answered: (by) => count(search, by),
      available(yes) {
        told.breakerOpen = !yes
      },
    },
    stats: { answered: (how) => count(stats, how) },
    shedding: { refused: (route) => count(refused, shownRoute(route)) },
    told,
  }
}

/** The registry behind /metrics. What is asked of PostgreSQL, Redis and the engine is asked when it is scraped. */
export function metricsRegistry({ metrics, pool, index, dependencies }: MetricsSources): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const { requests, told } = metrics

  const family = (
    type: 'counter' | 'gauge' | 'histogram',
    name: string,
    help: string,
    read: () => Sample[] | Promise<Sample[]>,
  ) => {
    // As much of a metric as the registry asks for.
    const metric = {
      name,
      help,
      type,
      get: async () => ({ name, help, type, values: await read(), aggregator: 'sum' }),
    }
    registry.registerMetric(metric as unknown as Metric)
  }
  const by = (label: string, counts: Iterable<[string, number]>) =>
    [...counts].map(([name, value]) => ({ labels: { [label]: name }, value }))
  const one = (value: number | null | undefined) => (value == null ? [] : [{ labels: {}, value }])
  const once = sharedBriefly(index)

  family(
    'histogram',
    'tqs_request_duration_seconds',
    'How long answers took, by route and class of status',
    () => requests.histogram('tqs_request_duration_seconds'),
  )
  family('counter', 'tqs_requests_total', 'Answers by route and status', () =>
    requests
      .counts()
      .map(({ route, status, count }) => ({ labels: { route, status }, value: count })),
  )
  family(
    'counter',
    'tqs_rate_limited_requests_total',
    'Requests refused because their caller asked too often',
    () => {
      const limited = new Map(endpoints.map((route) => [shownRoute(route), 0]))
      for (const { route, status, count } of requests.counts())
        if (status === 429) limited.set(route, count)
      return by('route', limited)
    },
  )
  family(
    'counter',
    'tqs_shed_requests_total',
    'Requests refused with 503 at the door because there was more to do than fits',
    () => by('route', told.refused),
  )
  family(
    'counter',
    'tqs_degraded_answers_total',
    'Searches answered by PostgreSQL, and figures that are older than they should be',
    () =>
      by('route', [
        [searchRoute, told.search.get('database') ?? 0],
        [statsRoute, told.stats.get('stale') ?? 0],
      ]),
  )
  family(
    'counter',
    'tqs_search_answers_total',
    'Searches by who answered: the memory of this process, the engine, or PostgreSQL',
    () => by('source', told.search),
  )
  family('counter', 'tqs_stats_answers_total', 'Figures by how they were found in the cache', () =>
    by('cache', told.stats),
  )
  family(
    'gauge',
    'tqs_search_breaker_open',
    '1 while the search engine is not asked because it failed',
    () => one(Number(told.breakerOpen)),
  )
  family(
    'gauge',
    'tqs_index_lag_seconds',
    'Age of the oldest change that is not in the search index',
    async () => one((await once())?.lagSeconds),
  )
  family(
    'gauge',
    'tqs_index_pending_changes',
    'Changes of products that wait for the search index',
    async () => one((await once())?.pending),
  )
  const parkedDocuments = async () => one((await once())?.parked)
  family(
    'gauge',
    'tqs_index_parked_documents',
    'Documents that the search engine rejected and that are parked until their product changes',
    parkedDocuments,
  )
  family(
    'gauge',
    'tqs_index_refused_documents',
    'Deprecated: the same as tqs_index_parked_documents, removed in the next release',
    parkedDocuments,
  )
  family('gauge', 'tqs_postgres_connections', 'Connections to PostgreSQL by what they do', () =>
    by('state', [
      ['busy', pool.totalCount - pool.idleCount],
      ['idle', pool.idleCount],
    ]),
  )
  family('gauge', 'tqs_postgres_waiting', 'Queries that wait for a connection', () =>
    one(pool.waitingCount),
  )
  family(
    'gauge',
    'tqs_dependency_up',
    '1 while PostgreSQL, Redis and the search engine answer',
    async () =>
      by(
        'dependency',
        Object.entries(await dependencies()).map(([name, up]) => [name, Number(up)]),
      ),
  )
  return registry
}

/** One look for all who ask at the same moment; null when it fails. */
function sharedBriefly<Result>(look: () => Promise<Result>): () => Promise<Result | null> {
  let looking: Promise<Result | null> | null = null
  return () => {
    looking ??= look()
      .catch(() => null)
      .finally(() => {
        looking = null
      })
    return looking
  }
}
