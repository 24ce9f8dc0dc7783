// Decides whether this instance is ready, and reports which servers it can reach.
import { type Kysely, sql } from 'kysely'
import pTimeout from 'p-timeout'
import type { ReplicaStatus } from '../database/replica/replica-state.ts'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import type { IndexProgress } from './index-metrics.ts'
import type { Metrics } from './process-metrics.ts'

export type Dependencies = {
  db: Kysely<Tables>
  /** Null if the service is configured without Redis. */
  redis: { check(): Promise<unknown> } | null
  engine: { health(): Promise<unknown> }
  metrics: Metrics
}

/** The names are the `dependency` labels of tqs_dependency_up. */
export type Reachability = { postgresql: boolean; redis?: boolean; search_engine: boolean }

/** What an instance must be able to do to be ready. Quote links need PostgreSQL. */
export type Requirement = 'links'

/** How far the index of the first engine is, if PostgreSQL answered. */
export type IndexReport = { state: 'unknown' | 'absent' } | ({ state: 'known' } & IndexProgress)

/** Returns whether the load balancer should send requests to this instance. */
export function isReady(
  reachability: Reachability,
  isServing: boolean,
  requirement?: Requirement,
): boolean {
  return isServing && canAnswer(reachability, requirement)
}

/**
 * Without PostgreSQL the service still answers searches from the engine, and cached statistics.
 * Without the engine, PostgreSQL answers searches. If every instance counted as down during an
 * outage of PostgreSQL, a load balancer would reject searches too.
 */
function canAnswer(
  { postgresql, search_engine: searchEngine }: Reachability,
  requirement: Requirement | undefined,
): boolean {
  return requirement === 'links' ? postgresql : postgresql || searchEngine
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
export async function readClockOffset(db: Kysely<Tables>): Promise<number> {
  const sentAt = Date.now()
  const { rows } = await sql<{ now: number }>`
    select extract(epoch from clock_timestamp())::float8 as now
  `.execute(db)
  const middle = (sentAt + Date.now()) / 2
  return middle / 1_000 - (rows[0]?.now ?? Number.NaN)
}

type ReportOptions = {
  isServing: boolean
  requirement?: Requirement | undefined
  index: IndexReport
  /** Whether the URL of a search engine leads to several servers, so that it is not used. */
  hasSeveralServers: boolean
  /** Null if no replica is configured. The instance is ready even if the replica is down. */
  replica: ReplicaStatus | null
}

/** Returns the JSON of /health/ready. */
export function readinessReport(
  reachability: Reachability,
  { isServing, requirement, index, hasSeveralServers, replica }: ReportOptions,
) {
  const { postgresql, redis, search_engine: searchEngine } = reachability
  const progress = index.state === 'known' ? index : null
  const hasNoIndex = index.state === 'absent' || progress?.indexedAt === null
  const degraded = [
    ...(postgresql ? [] : ['database']),
    ...(searchEngine ? [] : ['search engine']),
    ...(hasNoIndex ? ['search index'] : []),
    ...(redis === false ? ['redis'] : []),
    ...(replica && replica !== 'up' ? ['replica'] : []),
  ]
  return {
    status: readinessStatus(reachability, {
      isServing,
      requirement,
      isDegraded: degraded.length > 0,
    }),
    degraded,
    missing: postgresql
      ? []
      : ['quote links', 'statistics that are not cached', 'keys that are not cached'],
    checks: {
      database: upOrDown(postgresql),
      redis: redis === undefined ? 'not configured' : upOrDown(redis),
      searchEngine: searchEngine && hasSeveralServers ? 'several servers' : upOrDown(searchEngine),
      replica: replica ?? 'not configured',
    },
    indexedAt: progress?.indexedAt?.toISOString() ?? null,
    indexLagSeconds: progress?.lagSeconds ?? null,
    pendingChanges: progress?.pendingCount ?? null,
  }
}

/** Rejects if the promise takes longer than a health check may. */
export function withHealthTimeout<Result>(promise: Promise<Result>): Promise<Result> {
  return pTimeout(promise, { milliseconds: timeouts.monitoring.healthCheck.ms })
}

function readinessStatus(
  reachability: Reachability,
  {
    isServing,
    requirement,
    isDegraded,
  }: { isServing: boolean; requirement: Requirement | undefined; isDegraded: boolean },
): 'ready' | 'degraded' | 'not serving' | 'down' {
  if (!canAnswer(reachability, requirement)) return 'down'
  if (!isServing) return 'not serving'
  return isDegraded ? 'degraded' : 'ready'
}

const upOrDown = (isUp: boolean) => (isUp ? 'up' : 'down')

function succeeds(check: Promise<unknown>): Promise<boolean> {
  return withHealthTimeout(check).then(
    () => true,
    () => false,
  )
}
