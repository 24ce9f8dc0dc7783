// The registry of /metrics of the API, and the metrics that each scrape reads from the servers.
import { collectDefaultMetrics, Registry } from 'prom-client'
import { addIndexMetrics, type IndexProgress } from './index-metrics.ts'
import type { Metrics } from './process-metrics.ts'
import {
  addScrapedMetric,
  samplesBy,
  shareConcurrentCalls,
  singleSample,
} from './scraped-metric.ts'

/**
 * Changes of quotes that are not folded into the statistics summary. A statement that changes many
 * quotes is one change.
 */
export type UnfoldedChanges = { count: number; oldestSeconds: number }
/**
 * What the drift check of the statistics summary found: rows that differ from the quotes. Also the
 * time since the last completed check.
 */
export type SummaryDrift = { differentRowCount: number; checkAgeSeconds: number }
type Pool = { totalCount: number; idleCount: number; waitingCount: number }

type MetricsSources = {
  metrics: Metrics
  pool: Pool
  /** Returns one entry for each engine that has an index. */
  readIndexProgress: () => Promise<IndexProgress[]>
  readUnfoldedChanges: () => Promise<UnfoldedChanges>
  readDrift: () => Promise<SummaryDrift>
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
  addFoldMetrics(registry, sources)
  addDriftMetrics(registry, sources)
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

function addFoldMetrics(registry: Registry, { readUnfoldedChanges }: MetricsSources): void {
  const readUnfolded = shareConcurrentCalls(readUnfoldedChanges)
  addScrapedMetric(registry, {
    type: 'gauge',
    name: 'tqs_stats_unfolded_changes',
    help: 'Unfolded changes of quotes; a statement that changes many counts once',
    read: async () => singleSample((await readUnfolded())?.count),
  })
  addScrapedMetric(registry, {
    type: 'gauge',
    name: 'tqs_stats_oldest_unfolded_seconds',
    help: 'Age of the oldest change that is not folded, from the start of its transaction',
    read: async () => singleSample((await readUnfolded())?.oldestSeconds),
  })
}

function addDriftMetrics(registry: Registry, { readDrift }: MetricsSources): void {
  const read = shareConcurrentCalls(readDrift)
  addScrapedMetric(registry, {
    type: 'gauge',
    name: 'tqs_stats_drift_rows',
    help: 'Rows of the statistics summary that differ from the quotes, at most 20 for each month',
    read: async () => singleSample((await read())?.differentRowCount),
  })
  addScrapedMetric(registry, {
    type: 'gauge',
    name: 'tqs_stats_drift_check_age_seconds',
    help: 'Time since a month of the statistics summary was last compared with the quotes',
    read: async () => singleSample((await read())?.checkAgeSeconds),
  })
}
