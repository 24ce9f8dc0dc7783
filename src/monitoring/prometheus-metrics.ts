// The registry of /metrics of the API, and the metrics that each scrape reads from the servers.
import { collectDefaultMetrics, Registry } from 'prom-client'
import { addIndexMetrics, type IndexProgress } from './index-metrics.ts'
import type { Metrics } from './process-metrics.ts'
import { addScrapedMetric, samplesBy, singleSample } from './scraped-metric.ts'

type Pool = { totalCount: number; idleCount: number; waitingCount: number }

type MetricsSources = {
  metrics: Metrics
  pool: Pool
  /** Returns one entry for each engine that has an index. */
  readIndexProgress: () => Promise<IndexProgress[]>
  /** Returns the seconds since a month of the statistics was last checked. */
  readCheckAgeSeconds: () => Promise<number>
  readReachability: () => Promise<Record<string, boolean>>
  /** Returns by how many seconds the clock of this process is ahead of PostgreSQL's. */
  readClockOffsetSeconds: () => Promise<number>
}

/** Returns the registry of /metrics. Each scrape queries PostgreSQL, Redis and the engine. */
export function createMetricsRegistry(sources: MetricsSources): Registry {
  const { metrics, readIndexProgress } = sources
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  // First, so that the queries of this scrape do not count as waiting.
  addConnectionMetrics(registry, sources)
  addIndexMetrics(registry, { readIndexProgress, listEngines: metrics.search.listEngines })
  addCheckMetric(registry, sources)
  return Registry.merge([registry, metrics.registry])
}

function addConnectionMetrics(
  registry: Registry,
  { pool, readReachability, readClockOffsetSeconds }: MetricsSources,
): void {
  addScrapedMetric(registry, {
    type: 'gauge',
    name: 'tqs_postgres_connections',
    help: 'Connections to PostgreSQL by state',
    labelNames: ['state'],
    read: () =>
      samplesBy('state', [
        ['busy', pool.totalCount - pool.idleCount],
        ['idle', pool.idleCount],
      ]),
  })
  addScrapedMetric(registry, {
    type: 'gauge',
    name: 'tqs_postgres_waiting',
    help: 'Queries that wait for a connection',
    read: () => singleSample(pool.waitingCount),
  })
  addScrapedMetric(registry, {
    type: 'gauge',
    name: 'tqs_clock_offset_seconds',
    help: "Seconds by which the clock of this process is ahead of PostgreSQL's",
    // A scrape without this metric shows that the offset is unknown.
    read: async () => singleSample(await readClockOffsetSeconds().catch(() => null)),
  })
  addScrapedMetric(registry, {
    type: 'gauge',
    name: 'tqs_dependency_up',
    help: '1 while PostgreSQL, Redis or the search engine is reachable',
    labelNames: ['dependency'],
    read: async () =>
      samplesBy(
        'dependency',
        Object.entries(await readReachability()).map(([name, isUp]) => [name, Number(isUp)]),
      ),
  })
}

function addCheckMetric(registry: Registry, { readCheckAgeSeconds }: MetricsSources): void {
  addScrapedMetric(registry, {
    type: 'gauge',
    name: 'tqs_stats_drift_check_age_seconds',
    help: 'Time since a month of the statistics summary was last compared with the quotes',
    read: async () => singleSample(await readCheckAgeSeconds().catch(() => null)),
  })
}
