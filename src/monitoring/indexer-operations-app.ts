// The operations app of the indexer: /health/live, /health/ready and /metrics.
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { addIndexMetrics, type IndexProgress } from './index-metrics.ts'
import type { IndexerState, JobState } from './indexer-state.ts'
import { createOperationsApp } from './operations-app.ts'
import { withHealthTimeout } from './readiness.ts'
import { addScrapedMetric, samplesBy, singleSample } from './scraped-metric.ts'

type IndexerOperations = {
  state: IndexerState
  /** The name of the engine, without the version of the index. */
  engine: string
  readIndexProgress: () => Promise<IndexProgress[]>
}

/**
 * Returns the app. `live` is 200 while the process responds. `ready` is 200 while the indexer works
 * or stands by, and 503 while it starts or fails. Start it with `listen()`, and end
 * it with `close()`.
 */
export function buildIndexerOperationsApp({
  state,
  engine,
  readIndexProgress,
}: IndexerOperations): FastifyInstance {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  addIndexMetrics(registry, {
    readIndexProgress: () => withHealthTimeout(readIndexProgress()),
    listEngines: () => [engine],
  })
  addStateMetrics(registry, state, engine)
  addCounters(registry, state)
  addJobMetrics(registry, state)
  const app = createOperationsApp(registry)
  app.get('/health/ready', async (_request, reply) => {
    const { activity, failing, holdsLease, lastSuccessMs, rebuild } = state
    reply
      .code(activity === 'starting' || failing !== null ? 503 : 200)
      .header('cache-control', 'no-store')
    return {
      status: failing === null ? activity : 'failing',
      failing,
      holdsLease,
      lastSuccessAt: lastSuccessMs === null ? null : new Date(lastSuccessMs).toISOString(),
      rebuiltProducts: rebuild?.products ?? null,
    }
  })
  return app
}

function addStateMetrics(registry: Registry, state: IndexerState, engine: string): void {
  const addGauge = (name: string, help: string, readValue: () => number | null) => {
    const read = () => singleSample(readValue()).map(({ value }) => ({ labels: { engine }, value }))
    addScrapedMetric(registry, { type: 'gauge', name, help, labelNames: ['engine'], read })
  }
  addGauge('tqs_indexer_holds_lease', '1 while this indexer works; others stand by', () =>
    Number(state.holdsLease),
  )
  addGauge('tqs_indexer_failing', '1 while the last attempt of this indexer failed', () =>
    Number(state.failing !== null),
  )
  addGauge(
    'tqs_indexer_last_success_timestamp_seconds',
    'When the index last contained every change; absent before',
    () => (state.lastSuccessMs === null ? null : state.lastSuccessMs / 1_000),
  )
  addGauge('tqs_indexer_rebuild_running', '1 while this indexer builds a new index', () =>
    Number(state.rebuild !== null),
  )
  addGauge(
    'tqs_indexer_rebuild_products',
    'Products in the index that is being built; 0 while none is',
    () => state.rebuild?.products ?? 0,
  )
  addGauge(
    'tqs_indexer_last_rebuild_seconds',
    'How long the last complete build of an index took; absent before',
    () => state.lastRebuildSeconds,
  )
}

function addCounters(registry: Registry, state: IndexerState): void {
  addScrapedMetric(registry, {
    type: 'counter',
    name: 'tqs_indexer_rebuilds_total',
    help: 'Builds of an index by outcome',
    labelNames: ['outcome'],
    read: () => samplesBy('outcome', Object.entries(state.rebuilds)),
  })
  addScrapedMetric(registry, {
    type: 'counter',
    name: 'tqs_indexer_changes_total',
    help: 'Changes of products that this indexer applied',
    read: () => singleSample(state.appliedChanges),
  })
  addScrapedMetric(registry, {
    type: 'counter',
    name: 'tqs_indexer_errors_total',
    help: 'Errors that ended a run of this indexer, by what failed; engine_task: see its message',
    labelNames: ['kind'],
    read: () => samplesBy('kind', state.errors),
  })
}

function addJobMetrics(registry: Registry, { jobs }: IndexerState): void {
  const readByJob = (readValue: (job: JobState) => number) => () =>
    samplesBy(
      'task',
      [...jobs].map(([job, jobState]) => [job, readValue(jobState)]),
    )
  addScrapedMetric(registry, {
    type: 'gauge',
    name: 'tqs_regular_task_failing',
    help: '1 while the last attempt of the task failed',
    labelNames: ['task'],
    read: readByJob(({ isFailing }) => Number(isFailing)),
  })
  addScrapedMetric(registry, {
    type: 'gauge',
    name: 'tqs_regular_task_last_success_timestamp_seconds',
    help: 'When the task last succeeded, or when the process started if it never has',
    labelNames: ['task'],
    read: readByJob(({ lastSuccessMs }) => lastSuccessMs / 1_000),
  })
  addScrapedMetric(registry, {
    type: 'counter',
    name: 'tqs_regular_task_failures_total',
    help: 'Failures of the task',
    labelNames: ['task'],
    read: readByJob(({ failures }) => failures),
  })
}
