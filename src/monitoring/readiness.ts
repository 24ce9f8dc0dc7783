// Decides whether this instance is ready, and reports which servers it can reach.
import { type Kysely, sql } from 'kysely'
import pTimeout from 'p-timeout'
import type { Tables } from '../database/table-types.ts'
import type { IndexProgress } from './operations-app.ts'
import type { Metrics } from './process-metrics.ts'

// Prometheus and load balancers give up after a few seconds.
const healthCheckMs = 1_000

export type Dependencies = {
  db: Kysely<Tables>
  /** Null if the service is configured without Redis. */
  redis: { check(): Promise<unknown> } | null
  engine: { health(): Promise<unknown> }
  metrics: Metrics
}

/** The names are the `dependency` labels of tqs_dependency_up. */
type Reachability = { postgresql: boolean; redis?: boolean; search_engine: boolean }

export async function checkDependencies({
  db,
  redis,
  engine,
  metrics,
}: Dependencies): Promise<Reachability> {
  const [postgresql, redisIsUp, engineIsUp] = await Promise.all([
    succeeds(sql`select 1`.execute(db)),
    redis ? succeeds(redis.check()) : null,
    succeeds(engine.health()),
  ])
  return {
    postgresql,
    ...(redisIsUp !== null && { redis: redisIsUp }),
    // The engine may report that it is healthy and still fail searches.
    search_engine: engineIsUp && !metrics.search.isEveryBreakerOpen(),
  }
}

/**
 * Returns by how many seconds the clock of this process is ahead of PostgreSQL's. The error is at
 * most half of the round trip.
 */
export async function readClockOffsetSeconds(db: Kysely<Tables>): Promise<number> {
  const sentAt = Date.now()
  const { rows } = await sql<{ now: number }>`
    select extract(epoch from clock_timestamp())::float8 as now
  `.execute(db)
  const middle = (sentAt + Date.now()) / 2
  return middle / 1_000 - (rows[0]?.now ?? Number.NaN)
}

type ReportOptions = {
  isServing: boolean
  /** Whether the instance must be able to open quote links. */
  needsLinks: boolean
  /** The progress of each engine that has an index, the first engine first. Null if unknown. */
  progress: IndexProgress[] | null
}

/**
 * Returns the JSON of /health/ready. The load balancer should send requests to this instance if the
 * status is `ready` or `degraded`.
 */
export function buildReadinessReport(
  reachability: Reachability,
  { isServing, needsLinks, progress }: ReportOptions,
) {
  const { postgresql, redis, search_engine: searchEngine } = reachability
  // Without PostgreSQL the service still answers searches from the engine, and cached statistics.
  // Without the engine, PostgreSQL answers searches. If every instance counted as down during an
  // outage of PostgreSQL, a load balancer would reject searches too. Quote links need PostgreSQL.
  const canAnswer = postgresql || (searchEngine && !needsLinks)
  const first = progress?.[0]
  const hasNoIndex = progress !== null && !first?.indexedAt
  const degraded = [
    ...(postgresql ? [] : ['database']),
    ...(searchEngine ? [] : ['search engine']),
    ...(hasNoIndex ? ['search index'] : []),
    ...(redis === false ? ['redis'] : []),
  ]
  const servingStatus = degraded.length > 0 ? 'degraded' : 'ready'
  const answeringStatus = isServing ? servingStatus : 'not serving'
  return {
    status: canAnswer ? answeringStatus : 'down',
    degraded,
    checks: {
      database: upOrDown(postgresql),
      redis: redis === undefined ? 'not configured' : upOrDown(redis),
      searchEngine: upOrDown(searchEngine),
    },
    indexedAt: first?.indexedAt?.toISOString() ?? null,
    indexLagSeconds: first?.lagSeconds ?? null,
  }
}

export function withHealthTimeout<Result>(promise: Promise<Result>): Promise<Result> {
  return pTimeout(promise, { milliseconds: healthCheckMs })
}

const upOrDown = (isUp: boolean) => (isUp ? 'up' : 'down')

function succeeds(check: Promise<unknown>): Promise<boolean> {
  return withHealthTimeout(check).then(
    () => true,
    () => false,
  )
}
