// The Prometheus metrics of /metrics: their names, types, help texts and labels.
import type { Registry } from 'prom-client'
import { endpointPaths, searchPath, statsPath } from '../http/endpoint-paths.ts'
import { type IndexProgress, indexFamilies } from './index-metrics.ts'
import {
  createRegistry,
  type Family,
  samplesBy,
  shareConcurrentCalls,
  singleSample,
} from './metric-families.ts'
import { isEveryBreakerOpen, type Metrics, zeroCounts } from './process-metrics.ts'
import { routeLabel } from './request-metrics.ts'

/**
 * Changes of quotes that are not folded into the statistics summary. A statement that changes many
 * quotes is one change.
 */
export type UnfoldedChanges = { count: number; oldestSeconds: number }
/**
 * What the comparison of the statistics summary with the quotes found: rows that differ, and the
 * time since the last completed comparison.
 */
export type SummaryDrift = { differentRowCount: number; checkAgeSeconds: number }
type Pool = { totalCount: number; idleCount: number; waitingCount: number }

export type MetricsSources = {
  metrics: Metrics
  pool: Pool
  /** Returns one entry for each engine that has an index. */
  readIndexProgress: () => Promise<IndexProgress[]>
  readUnfoldedChanges: () => Promise<UnfoldedChanges>
  readDrift: () => Promise<SummaryDrift>
  readReachability: () => Promise<Record<string, boolean>>
  /** Returns by how many seconds the clock of this process is ahead of PostgreSQL's. */
  readClockOffset: () => Promise<number>
}

const durationMetric = 'tqs_request_duration_seconds'

/** Returns the registry of /metrics. Each scrape queries PostgreSQL, Redis and the engine. */
export function createMetricsRegistry(sources: MetricsSources): Registry {
  const { metrics, readIndexProgress } = sources
  return createRegistry([
    // First, so that the queries of this scrape do not count as waiting.
    ...connectionFamilies(sources),
    ...requestFamilies(metrics),
    ...callerFamilies(metrics),
    ...responseFamilies(metrics),
    ...indexFamilies({
      readIndexProgress,
      listEngines: () => [...metrics.values.engineAvailability.keys()],
    }),
    ...foldFamilies(sources),
    ...driftFamilies(sources),
    ...quoteLinkFamilies(metrics),
    ...replicaFamilies(metrics),
  ])
}

function requestFamilies({ requests, values }: Metrics): Family[] {
  return [
    {
      type: 'histogram',
      name: durationMetric,
      help: 'Duration of requests by route and status class',
      read: () => requests.histogram(durationMetric),
    },
    {
      type: 'counter',
      name: 'tqs_requests_total',
      help: 'Requests by route and status',
      read: () =>
        requests
          .counts()
          .map(({ route, status, count }) => ({ labels: { route, status }, value: count })),
    },
    {
      type: 'counter',
      name: 'tqs_rate_limited_requests_total',
      help: 'Requests rejected with 429 because their caller exceeded a rate limit',
      read: () => {
        const limited = zeroCounts(endpointPaths.map(routeLabel))
        for (const { route, status, count } of requests.counts())
          if (status === 429) limited.set(route, count)
        return samplesBy('route', limited)
      },
    },
    {
      type: 'counter',
      name: 'tqs_shed_requests_total',
      help: 'Requests rejected with 503 because of overload',
      read: () => samplesBy('route', values.rejections),
    },
  ]
}

function callerFamilies({ callers }: Metrics): Family[] {
  return [
    {
      type: 'counter',
      name: 'tqs_key_requests_total',
      help: 'Requests by the id of the API key: answered, refused (401, 403, 421, 429) or failed',
      read: () => callers.keySamples(),
    },
    {
      type: 'counter',
      name: 'tqs_network_requests_total',
      help: 'Requests by the network of the caller (/24 or /48); further networks are "other"',
      read: () => callers.networkSamples(),
    },
  ]
}

function responseFamilies({ values }: Metrics): Family[] {
  return [
    {
      type: 'counter',
      name: 'tqs_degraded_answers_total',
      help: 'Searches answered by PostgreSQL or incompletely, and statistics that were out of date',
      read: () =>
        samplesBy('route', [
          [searchPath, (values.searchResponses.get('database') ?? 0) + values.incompleteSearches],
          [statsPath, values.statsResponses.get('stale') ?? 0],
        ]),
    },
    {
      type: 'counter',
      name: 'tqs_search_answers_total',
      help: 'Searches by source; cancelled: the client disconnected',
      read: () => samplesBy('source', values.searchResponses),
    },
    {
      type: 'counter',
      name: 'tqs_stats_answers_total',
      help: 'Statistics answers by the outcome of the cache',
      read: () => samplesBy('cache', values.statsResponses),
    },
    {
      type: 'gauge',
      name: 'tqs_search_breaker_open',
      help: '1 while the circuit breaker of every search engine is open',
      read: () => singleSample(Number(isEveryBreakerOpen(values))),
    },
    {
      type: 'gauge',
      name: 'tqs_search_engine_available',
      help: '1 while this process sends searches to the engine: its circuit breaker is closed',
      read: () =>
        [...values.engineAvailability].map(([engine, isAvailable]) => ({
          labels: { engine },
          value: Number(isAvailable),
        })),
    },
    {
      type: 'counter',
      name: 'tqs_search_engine_requests_total',
      help: 'Searches sent to each engine by outcome; cancelled: the client disconnected',
      read: () =>
        [...values.engineRequests].flatMap(([engine, counts]) =>
          [...counts].map(([outcome, value]) => ({ labels: { engine, outcome }, value })),
        ),
    },
  ]
}

function foldFamilies({ metrics, readUnfoldedChanges }: MetricsSources): Family[] {
  const readUnfolded = shareConcurrentCalls(readUnfoldedChanges)
  return [
    {
      type: 'counter',
      name: 'tqs_stats_fold_failures_total',
      help: 'Failed attempts to fold changes of quotes into the statistics summary',
      read: () => singleSample(metrics.values.foldFailures),
    },
    {
      type: 'gauge',
      name: 'tqs_stats_unfolded_changes',
      help: 'Unfolded changes of quotes; a statement that changes many counts once',
      read: async () => singleSample((await readUnfolded())?.count),
    },
    {
      type: 'gauge',
      name: 'tqs_stats_oldest_unfolded_seconds',
      help: 'Age of the oldest change that is not folded, from the start of its transaction',
      read: async () => singleSample((await readUnfolded())?.oldestSeconds),
    },
  ]
}

function driftFamilies({ metrics: { values }, readDrift }: MetricsSources): Family[] {
  const read = shareConcurrentCalls(readDrift)
  return [
    {
      type: 'gauge',
      name: 'tqs_stats_drift_rows',
      help: 'Rows of the statistics summary that differ from the quotes, at most 20 for each month',
      read: async () => singleSample((await read())?.differentRowCount),
    },
    {
      type: 'gauge',
      name: 'tqs_stats_drift_check_age_seconds',
      help: 'Time since a month of the statistics summary was last compared with the quotes',
      read: async () => singleSample((await read())?.checkAgeSeconds),
    },
    {
      type: 'counter',
      name: 'tqs_stats_drift_checks_total',
      help: 'Months of the statistics summary that this process compared with the quotes',
      read: () => singleSample(values.driftChecks),
    },
    {
      type: 'counter',
      name: 'tqs_stats_drift_check_failures_total',
      help: 'Comparisons of the statistics summary with the quotes that failed',
      read: () => singleSample(values.driftCheckFailures),
    },
  ]
}

function quoteLinkFamilies({ values }: Metrics): Family[] {
  return [
    {
      type: 'counter',
      name: 'tqs_altered_documents_total',
      help: 'Requests for a quote link whose document does not match its hash',
      read: () => singleSample(values.alteredDocuments),
    },
    {
      type: 'counter',
      name: 'tqs_pdf_failures_total',
      help: 'Requests for a PDF that the service could not render',
      read: () => singleSample(values.failedPdfs),
    },
  ]
}

function connectionFamilies({
  metrics,
  pool,
  readReachability,
  readClockOffset,
}: MetricsSources): Family[] {
  return [
    {
      type: 'gauge',
      name: 'tqs_postgres_connections',
      help: 'Connections to PostgreSQL by state',
      read: () =>
        samplesBy('state', [
          ['busy', pool.totalCount - pool.idleCount],
          ['idle', pool.idleCount],
        ]),
    },
    {
      type: 'gauge',
      name: 'tqs_postgres_waiting',
      help: 'Queries that wait for a connection',
      read: () => singleSample(pool.waitingCount),
    },
    {
      type: 'gauge',
      name: 'tqs_clock_offset_seconds',
      help: "Seconds by which the clock of this process is ahead of PostgreSQL's",
      read: async () => singleSample(await readClockOffset().catch(() => null)),
    },
    {
      type: 'counter',
      name: 'tqs_redis_failures_total',
      help: 'Commands that Redis rejected, by the code of its reply, and those that timed out',
      read: () => samplesBy('code', metrics.values.redisFailures),
    },
    {
      type: 'gauge',
      name: 'tqs_dependency_up',
      help: '1 while PostgreSQL, Redis or the search engine is reachable',
      read: async () =>
        samplesBy(
          'dependency',
          Object.entries(await readReachability()).map(([name, isUp]) => [name, Number(isUp)]),
        ),
    },
  ]
}

/** Without a replica there are no samples. */
function replicaFamilies({ values }: Metrics): Family[] {
  return [
    {
      type: 'gauge',
      name: 'tqs_replica_up',
      help: '1 while statistics and documents are read from the replica of REPLICA_DATABASE_URL',
      read: () => (values.replica ? singleSample(Number(values.replica.status === 'up')) : []),
    },
    {
      type: 'gauge',
      name: 'tqs_replica_lag_seconds',
      help: 'Upper bound of the replication lag, at most 1.5 s while the replica is used',
      read: () => singleSample(values.replica?.lagSeconds),
    },
    {
      type: 'counter',
      name: 'tqs_replica_reads_total',
      help: 'Reads meant for the replica, by outcome: used, behind or failed',
      read: () =>
        values.replica
          ? [...values.replicaReads].flatMap(([read, counts]) =>
              [...counts].map(([outcome, value]) => ({ labels: { read, outcome }, value })),
            )
          : [],
    },
  ]
}
