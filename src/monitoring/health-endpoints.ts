// The operations app on its own port: /health/live, /health/ready and /metrics.
import Fastify, { type FastifyInstance } from 'fastify'
import { registerErrorHandlers } from '../http/error-handlers.ts'
import {
  checkDependencies,
  type Dependencies,
  type Reachability,
  withHealthTimeout,
} from './health-checks.ts'
import { createMetricsRegistry, type IndexProgress } from './metrics.ts'

export type OperationsOptions = Dependencies & {
  /** Returns null if there is no index yet. */
  index: () => Promise<IndexProgress | null>
  pool: { totalCount: number; idleCount: number; waitingCount: number }
  /** False while the process starts or stops. */
  isServing?: () => boolean
}

/**
 * `live` is 200 while the process responds. `ready` is 200 while the process serves and PostgreSQL
 * is reachable, also if it is degraded without the search engine or Redis. Otherwise it is 503:
 * statistics and quotes need PostgreSQL.
 */
export function buildOperationsApp({
  index,
  pool,
  isServing = () => true,
  ...dependencies
}: OperationsOptions): FastifyInstance {
  const app = Fastify({ logger: false })
  registerErrorHandlers(app, '/health/live, /health/ready and /metrics')
  const readReachability = () => checkDependencies(dependencies)
  // Without the progress of the index the other checks are still useful.
  const readProgress = () => withHealthTimeout(index()).catch(() => null)
  const registry = createMetricsRegistry({
    metrics: dependencies.metrics,
    pool,
    index: readProgress,
    dependencies: readReachability,
  })

  app.get('/health/live', async () => ({ status: 'live' }))

  app.get('/health/ready', async (_request, reply) => {
    const [reachability, progress] = await Promise.all([readReachability(), readProgress()])
    const isReady = reachability.postgresql && isServing()
    reply.code(isReady ? 200 : 503).header('cache-control', 'no-store')
    return readinessReport(reachability, progress, isReady)
  })

  app.get('/metrics', async (_request, reply) => {
    reply.type(registry.contentType).header('cache-control', 'no-store')
    return registry.metrics()
  })
  return app
}

function readinessReport(
  { postgresql, redis, search_engine: searchEngine }: Reachability,
  progress: IndexProgress | null,
  isReady: boolean,
) {
  const degraded = [
    ...(searchEngine ? [] : ['search engine']),
    ...(redis === false ? ['redis'] : []),
  ]
  return {
    status: readinessStatus(isReady, postgresql, degraded.length > 0),
    degraded,
    down: postgresql ? [] : ['database'],
    checks: {
      database: upOrDown(postgresql),
      redis: redis === undefined ? 'not configured' : upOrDown(redis),
      searchEngine: upOrDown(searchEngine),
    },
    indexedAt: progress?.indexedAt?.toISOString() ?? null,
    indexLagSeconds: progress?.lagSeconds ?? null,
    pendingChanges: progress?.pending ?? null,
  }
}

function readinessStatus(isReady: boolean, postgresql: boolean, isDegraded: boolean): string {
  if (isReady) return isDegraded ? 'degraded' : 'ready'
  return postgresql ? 'not serving' : 'down'
}

const upOrDown = (isUp: boolean) => (isUp ? 'up' : 'down')
