// Decides whether this instance is ready, and reports which servers it can reach.
import type { Redis } from 'ioredis'
import { type Kysely, sql } from 'kysely'
import pTimeout from 'p-timeout'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import { isEveryBreakerOpen, type Metrics } from './counters.ts'
import type { IndexProgress } from './prometheus-metrics.ts'

export type Dependencies = {
  db: Kysely<Tables>
  /** Null if the service is configured without Redis. */
  redis: Redis | null
  engine: { health(): Promise<unknown> }
  metrics: Metrics
}

/** The names are the `dependency` labels of tqs_dependency_up. */
export type Reachability = { postgresql: boolean; redis?: boolean; search_engine: boolean }

/**
 * Returns whether the load balancer should send requests to this instance. Only PostgreSQL is
 * necessary, because statistics and quotes need it. Without the search engine or Redis the service
 * still works, but is degraded.
 */
export function isReady({ postgresql }: Reachability, isServing: boolean): boolean {
  return postgresql && isServing
}

/** Returns which dependencies respond within the timeout of a health check. */
export async function checkDependencies({
  db,
  redis,
  engine,
  metrics,
}: Dependencies): Promise<Reachability> {
  const [postgresql, redisIsUp, engineIsUp] = await Promise.all([
    succeeds(sql`select 1`.execute(db)),
    redis ? succeeds(redis.ping()) : null,
    succeeds(engine.health()),
  ])
  return {
    postgresql,
    ...(redisIsUp !== null && { redis: redisIsUp }),
    // The engine may report that it is healthy and still fail searches.
    search_engine: engineIsUp && !isEveryBreakerOpen(metrics.values),
  }
}

/** Returns the JSON of /health/ready. `progress` is null if it is unknown or there is no index. */
export function readinessReport(
  reachability: Reachability,
  progress: IndexProgress | null,
  isServing: boolean,
) {
  const { postgresql, redis, search_engine: searchEngine } = reachability
  const degraded = [
    ...(searchEngine ? [] : ['search engine']),
    ...(redis === false ? ['redis'] : []),
  ]
  return {
    status: readinessStatus(reachability, isServing, degraded.length > 0),
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

/** Rejects if the promise takes longer than a health check may. */
export function withHealthTimeout<Result>(promise: Promise<Result>): Promise<Result> {
  return pTimeout(promise, { milliseconds: timeouts.monitoring.healthCheck.ms })
}

function readinessStatus(
  reachability: Reachability,
  isServing: boolean,
  isDegraded: boolean,
): 'ready' | 'degraded' | 'not serving' | 'down' {
  if (!reachability.postgresql) return 'down'
  if (!isReady(reachability, isServing)) return 'not serving'
  return isDegraded ? 'degraded' : 'ready'
}

const upOrDown = (isUp: boolean) => (isUp ? 'up' : 'down')

function succeeds(check: Promise<unknown>): Promise<boolean> {
  return withHealthTimeout(check).then(
    () => true,
    () => false,
  )
}
