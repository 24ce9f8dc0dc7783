// What the operations apps of the API and of the indexer share: /health/live, /metrics, and the
// metrics of the index.
import Fastify, { type FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { addCommonHeaders } from '../http/common-headers.ts'
import { registerErrorHandlers } from '../http/error-handlers.ts'
import { nameWithoutVersion } from '../search-engine/index-name.ts'
import { addScrapedMetric, shareConcurrentCalls } from './scraped-metric.ts'

export function createOperationsApp(registry: Registry): FastifyInstance {
  const app = Fastify({ logger: false })
  registerErrorHandlers(app, ['/health/live', '/health/ready', '/metrics'])
  addCommonHeaders(app)
  app.get('/health/live', async () => ({ status: 'live' }))
  app.get('/metrics', async (_request, reply) => {
    reply.type(registry.contentType).header('cache-control', 'no-store')
    return registry.metrics()
  })
  return app
}

/** How far the index of one search engine is behind the database. */
export type IndexProgress = {
  registrationName: string
  indexedAt: Date | null
  lagSeconds: number | null
  pendingCount: number
  parkedCount: number
}

type IndexSources = {
  /** Returns one entry for each engine that has an index. */
  readIndexProgress: () => Promise<IndexProgress[]>
  /** Returns the names, without their version, of the engines that should have an index. */
  listEngines: () => string[]
}

export function addIndexMetrics(
  registry: Registry,
  { readIndexProgress, listEngines }: IndexSources,
): void {
  const readByEngine = shareConcurrentCalls(async () => {
    const progress = await readIndexProgress()
    return new Map(progress.map((each) => [nameWithoutVersion(each.registrationName), each]))
  })
  const addGauge = (name: string, help: string, read: (progress: IndexProgress) => number | null) =>
    addScrapedMetric(registry, {
      name,
      help: `${help}, by engine`,
      label: 'engine',
      read: async () =>
        [...(await readByEngine())].map(([engine, progress]) => [engine, read(progress)]),
    })
  addScrapedMetric(registry, {
    name: 'tqs_index_built',
    help: '1 if the index of this release was built in the engine',
    label: 'engine',
    read: async () => {
      const progress = await readByEngine()
      return listEngines().map((engine) => [engine, Number(!!progress.get(engine)?.indexedAt)])
    },
  })
  addGauge(
    'tqs_index_lag_seconds',
    'Age of the oldest change that is not in the index',
    ({ lagSeconds }) => lagSeconds,
  )
  addGauge(
    'tqs_index_pending_changes',
    'Changes of products that are not in the index yet',
    ({ pendingCount }) => pendingCount,
  )
  addGauge(
    'tqs_index_parked_documents',
    'Documents that the engine rejected, parked until their product changes',
    ({ parkedCount }) => parkedCount,
  )
}
