// The operations app of the API on its own port: /health/live, /health/ready and /metrics.
import type { FastifyInstance } from 'fastify'
import { Problem } from '../http/problem-details.ts'
import type { IndexProgress } from './index-metrics.ts'
import { createOperationsApp } from './operations-app.ts'
import { createMetricsRegistry } from './prometheus-metrics.ts'
import {
  buildReadinessReport,
  checkDependencies,
  type Dependencies,
  readClockOffsetSeconds,
  withHealthTimeout,
} from './readiness.ts'

type OperationsOptions = Dependencies & {
  /** Returns one entry for each engine that has an index, the first engine first. */
  readIndexProgress: () => Promise<IndexProgress[]>
  /** Returns the seconds since a month of the statistics was last checked. */
  readCheckAgeSeconds: () => Promise<number>
  pool: { totalCount: number; idleCount: number; waitingCount: number }
  isServing?: () => boolean
}

/**
 * Returns the app. `live` is 200 while the process responds. `ready` is 200 if the load balancer
 * should send requests, and otherwise 503. `ready?need=links` also requires what quote links need.
 * Start it with `listen()`, and end it with `close()`.
 */
export function buildApiOperationsApp({
  readIndexProgress,
  readCheckAgeSeconds,
  pool,
  isServing = () => true,
  ...dependencies
}: OperationsOptions): FastifyInstance {
  const readReachability = () => checkDependencies(dependencies)
  // If the progress of the index cannot be read, the other checks are still useful.
  const readProgressIfPossible = () => withHealthTimeout(readIndexProgress()).catch(() => null)
  const registry = createMetricsRegistry({
    metrics: dependencies.metrics,
    pool,
    readIndexProgress: () => withHealthTimeout(readIndexProgress()),
    readCheckAgeSeconds: () => withHealthTimeout(readCheckAgeSeconds()),
    readReachability,
    readClockOffsetSeconds: () => withHealthTimeout(readClockOffsetSeconds(dependencies.db)),
  })

  const app = createOperationsApp(registry)
  app.get<{ Querystring: { need?: string } }>('/health/ready', async ({ query }, reply) => {
    const needsLinks = parseNeed(query.need)
    const [reachability, progress] = await Promise.all([
      readReachability(),
      readProgressIfPossible(),
    ])
    const report = buildReadinessReport(reachability, {
      isServing: isServing(),
      needsLinks,
      progress,
    })
    const isReady = report.status === 'ready' || report.status === 'degraded'
    reply.code(isReady ? 200 : 503).header('cache-control', 'no-store')
    return report
  })

  return app
}

/** Returns whether the instance must be able to open quote links. */
function parseNeed(need: string | undefined): boolean {
  if (need === undefined || need === 'links') return need === 'links'
  throw new Problem('invalid_parameter', 'need must be "links", or be left out.')
}
