// The operations app of the API on its own port: /health/live, /health/ready and /metrics.
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { Problem } from '../http/problem-details.ts'
import { addIndexMetrics, createOperationsApp, type IndexProgress } from './operations-app.ts'
import {
  buildReadinessReport,
  checkDependencies,
  type Dependencies,
  readClockOffsetSeconds,
  withHealthTimeout,
} from './readiness.ts'
import { addScrapedMetric } from './scraped-metric.ts'

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
  const app = createOperationsApp(createRegistry())
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

  /** Returns the registry of /metrics. Each scrape queries PostgreSQL, Redis and the engine. */
  function createRegistry(): Registry {
    const { db, metrics } = dependencies
    const registry = new Registry()
    collectDefaultMetrics({ register: registry })
    // First, so that the queries of this scrape do not count as waiting.
    addScrapedMetric(registry, {
      name: 'tqs_postgres_connections',
      help: 'Connections to PostgreSQL by state',
      label: 'state',
      read: () => [
        ['busy', pool.totalCount - pool.idleCount],
        ['idle', pool.idleCount],
      ],
    })
    addScrapedMetric(registry, {
      name: 'tqs_postgres_waiting',
      help: 'Queries that wait for a connection',
      read: () => pool.waitingCount,
    })
    addScrapedMetric(registry, {
      name: 'tqs_clock_offset_seconds',
      help: "Seconds by which the clock of this process is ahead of PostgreSQL's",
      read: () => withHealthTimeout(readClockOffsetSeconds(db)),
    })
    addScrapedMetric(registry, {
      name: 'tqs_dependency_up',
      help: '1 while PostgreSQL, Redis or the search engine is reachable',
      label: 'dependency',
      read: async () =>
        Object.entries(await readReachability()).map(([name, isUp]) => [name, Number(isUp)]),
    })
    addScrapedMetric(registry, {
      name: 'tqs_stats_drift_check_age_seconds',
      help: 'Time since a month of the statistics summary was last compared with the quotes',
      read: () => withHealthTimeout(readCheckAgeSeconds()),
    })
    addIndexMetrics(registry, {
      readIndexProgress: () => withHealthTimeout(readIndexProgress()),
      listEngines: metrics.search.listEngines,
    })
    return Registry.merge([registry, metrics.registry])
  }
}

/** Returns whether the instance must be able to open quote links. */
function parseNeed(need: string | undefined): boolean {
  if (need === undefined || need === 'links') return need === 'links'
  throw new Problem('invalid_parameter', 'need must be "links", or be left out.')
}
