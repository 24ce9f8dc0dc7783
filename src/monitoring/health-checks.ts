// Checks whether PostgreSQL, Redis and the search engine are reachable.
import type { Redis } from 'ioredis'
import { type Kysely, sql } from 'kysely'
import pTimeout from 'p-timeout'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import type { Metrics } from './metrics.ts'

export type Dependencies = {
  db: Kysely<Tables>
  /** Null if the service is configured without Redis. */
  redis: Redis | null
  engine: { health(): Promise<unknown> }
  metrics: Metrics
}

/** The names are the `dependency` labels of tqs_dependency_up. */
export type Reachability = { postgresql: boolean; redis?: boolean; search_engine: boolean }

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
    search_engine: engineIsUp && !metrics.values.isBreakerOpen,
  }
}

/** Rejects if the promise takes longer than a health check may. */
export function withHealthTimeout<Result>(promise: Promise<Result>): Promise<Result> {
  return pTimeout(promise, { milliseconds: timeouts.monitoring.healthCheck.ms })
}

function succeeds(check: Promise<unknown>): Promise<boolean> {
  return withHealthTimeout(check).then(
    () => true,
    () => false,
  )
}
