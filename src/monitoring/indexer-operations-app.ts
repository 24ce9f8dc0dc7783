// The operations app of the indexer: /health/live, /health/ready and /metrics.
import type { FastifyInstance } from 'fastify'
import { type IndexProgress, indexFamilies } from './index-metrics.ts'
import type { IndexerState } from './indexer-state.ts'
import { createRegistry, type Family, samplesBy, singleSample } from './metric-families.ts'
import { createOperationsApp } from './operations-app.ts'
import { withHealthTimeout } from './readiness.ts'

type IndexerOperations = {
  state: IndexerState
  /** The name of the engine, without the shape of the index. */
  engine: string
  readIndexProgress: () => Promise<IndexProgress[]>
}

/**
 * Returns the app. `live` is 200 while the process responds. `ready` is 200 while the indexer works
 * or stands by, and 503 while it starts or fails. The caller listens and closes.
 */
export function buildIndexerOperationsApp({
  state,
  engine,
  readIndexProgress,
}: IndexerOperations): FastifyInstance {
  const registry = createRegistry([
    ...indexFamilies({
      readIndexProgress: () => withHealthTimeout(readIndexProgress()),
      listEngines: () => [engine],
    }),
    ...workFamilies(state, engine),
    ...taskFamilies(state),
  ])
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

function workFamilies(state: IndexerState, engine: string): Family[] {
  const gauge = (name: string, help: string, read: () => number | null): Family => ({
    type: 'gauge',
    name,
    help,
    read: () => {
      const value = read()
      return value === null ? [] : [{ labels: { engine }, value }]
    },
  })
  return [
    gauge('tqs_indexer_holds_lease', '1 while this indexer works; others stand by', () =>
      Number(state.holdsLease),
    ),
    gauge('tqs_indexer_failing', '1 while the last attempt of this indexer failed', () =>
      Number(state.failing !== null),
    ),
    gauge(
      'tqs_indexer_last_success_timestamp_seconds',
      'When the index last contained every change; absent before',
      () => (state.lastSuccessMs === null ? null : state.lastSuccessMs / 1_000),
    ),
    gauge('tqs_indexer_rebuild_running', '1 while this indexer builds a new index', () =>
      Number(state.rebuild !== null),
    ),
    gauge(
      'tqs_indexer_rebuild_products',
      'Products in the index that is being built; 0 while none is',
      () => state.rebuild?.products ?? 0,
    ),
    gauge(
      'tqs_indexer_last_rebuild_seconds',
      'How long the last complete build of an index took; absent before',
      () => state.lastRebuildSeconds,
    ),
    {
      type: 'counter',
      name: 'tqs_indexer_rebuilds_total',
      help: 'Builds of an index by outcome',
      read: () => samplesBy('outcome', Object.entries(state.rebuilds)),
    },
    {
      type: 'counter',
      name: 'tqs_indexer_changes_total',
      help: 'Changes of products that this indexer applied',
      read: () => singleSample(state.appliedChanges),
    },
    {
      type: 'counter',
      name: 'tqs_indexer_errors_total',
      help: 'Errors that ended a run of this indexer, by what failed; engine_task: see its message',
      read: () => samplesBy('kind', state.errors),
    },
  ]
}

function taskFamilies({ tasks }: IndexerState): Family[] {
  return [
    {
      type: 'gauge',
      name: 'tqs_regular_task_failing',
      help: '1 while the last attempt of the task failed',
      read: () =>
        samplesBy(
          'task',
          [...tasks].map(([task, { isFailing }]) => [task, Number(isFailing)]),
        ),
    },
    {
      type: 'gauge',
      name: 'tqs_regular_task_last_success_timestamp_seconds',
      help: 'When the task last succeeded, or when the process started if it never has',
      read: () =>
        samplesBy(
          'task',
          [...tasks].map(([task, { lastSuccessMs }]) => [task, lastSuccessMs / 1_000]),
        ),
    },
    {
      type: 'counter',
      name: 'tqs_regular_task_failures_total',
      help: 'Failures of the task',
      read: () =>
        samplesBy(
          'task',
          [...tasks].map(([task, { failures }]) => [task, failures]),
        ),
    },
  ]
}
