// The operations app of the indexer: /health/live, /health/ready and /metrics.
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { IndexerState } from './indexer-state.ts'
import { addIndexMetrics, createOperationsApp, type IndexProgress } from './operations-app.ts'
import { withHealthTimeout } from './readiness.ts'
import { addScrapedMetric } from './scraped-metric.ts'

type IndexerOperations = {
  state: IndexerState
  /** The name of the engine, without the version of the index. */
  engine: string
  readIndexProgress: () => Promise<IndexProgress[]>
}

/**
 * Returns the app. `live` is 200 while the process responds. `ready` is 200 while the indexer works
 * or stands by, and 503 while it starts or fails. Start it with `listen()`, and end it with
 * `close()`.
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
  const app = createOperationsApp(registry)
  app.get('/health/ready', async (_request, reply) => {
    const { activity, failing, holdsLease, lastSuccessAt, rebuiltProducts } = state
    reply
      .code(activity === 'starting' || failing !== null ? 503 : 200)
      .header('cache-control', 'no-store')
    return {
      status: failing === null ? activity : 'failing',
      failing,
      holdsLease,
      lastSuccessAt,
      rebuiltProducts,
    }
  })
  return app
}

function addStateMetrics(registry: Registry, state: IndexerState, engine: string): void {
  const addGauge = (name: string, help: string, read: () => number) =>
    addScrapedMetric(registry, { name, help, label: 'engine', read: () => [[engine, read()]] })
  addGauge('tqs_indexer_holds_lease', '1 while this indexer works; others stand by', () =>
    Number(state.holdsLease),
  )
  addGauge('tqs_indexer_failing', '1 while the last attempt of this indexer failed', () =>
    Number(state.failing !== null),
  )
  addGauge('tqs_indexer_rebuild_running', '1 while this indexer builds a new index', () =>
    Number(state.rebuiltProducts !== null),
  )
  addGauge(
    'tqs_indexer_rebuild_products',
    'Products in the index that is being built; 0 while none is',
    () => state.rebuiltProducts ?? 0,
  )
  addScrapedMetric(registry, {
    type: 'counter',
    name: 'tqs_indexer_errors_total',
    help: 'Errors that ended a run of this indexer, by what failed; engine_task: see its message',
    label: 'kind',
    read: () => state.errors,
  })
  addScrapedMetric(registry, {
    name: 'tqs_regular_task_failing',
    help: '1 while the last attempt of the task failed',
    label: 'task',
    read: () => [...state.jobs].map(([job, succeeded]) => [job, Number(succeeded === false)]),
  })
}
