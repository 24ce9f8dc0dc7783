// GET /api/stats: statistics over quotes, as JSON or CSV, with an ETag and the age of the data.
// docs/statistics.md follows a request and a changed quote through these files.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import type { AccessControl } from '../auth/access-control.ts'
import { createLocalDateReader } from '../company/calendar.ts'
import type { Company } from '../company/company-file.ts'
import { isPostgresUnavailable } from '../database/failover/broken-connections.ts'
import type { Replica } from '../database/replica/replica.ts'
import type { Tables } from '../database/table-types.ts'
import { type ContentEncoding, matchesEtag } from '../http/compressed-content.ts'
import { statsPath } from '../http/endpoint-paths.ts'
import { Problem, ProblemBody, serializeOnlyProblems } from '../http/problem-details.ts'
import type { LogFields } from '../http/request-log.ts'
import type { CallerRateLimit } from '../rate-limits/request-rate-limits.ts'
import type { RedisAccess } from '../redis/optional-redis.ts'
import { createDataVersionPoller, type DataVersionPoller } from './cache/data-version-poller.ts'
import { shareDataVersions } from './cache/shared-data-version.ts'
import { SharedStatsCache } from './cache/shared-stats-cache.ts'
import {
  type CachedStats,
  type CacheResult,
  dataVersionResponseMs,
  StatsCache,
} from './cache/stats-cache.ts'
import { checkCodes } from './check-codes.ts'
import { checkPeriod } from './check-period.ts'
import { chooseFormat, negotiate } from './negotiate-format.ts'
import type { Format } from './response-body.ts'
import { hasBreakdown, Stats, StatsQuery, unavailableDetail } from './schema.ts'
import { readStatsPreferringReplica } from './stats-source.ts'
import { type DriftObserver, startDriftCheck } from './summary/drift-check.ts'
import { type FoldObserver, startFolding } from './summary/fold-changes.ts'

// Most connection failures end within a few seconds.
const retryAfterMs = 2_000

export type StatsOptions = {
  db: Kysely<Tables>
  /** Null if statistics are always computed from the primary. */
  replica: Replica | null
  redis: RedisAccess | null
  redisPrefix: string
  company: Company
  access: AccessControl
  rateLimit: CallerRateLimit
  clock: () => Date
  /** The time between two drift checks. Each compares a month of the summary with the quotes. */
  driftCheckMs: number
  observer: StatsObserver
}

/**
 * Counts the responses with statistics by what the cache found, and what the background tasks do.
 * Failed requests are in tqs_requests_total, which counts by status.
 */
export type StatsObserver = FoldObserver &
  DriftObserver & { countResponse(cacheResult: CacheResult): void }

export const statsRoutes: FastifyPluginAsyncTypebox<StatsOptions> = async (app, options) => {
  const { access, rateLimit, observer } = options
  const readToday = createLocalDateReader(options.company.timeZone, options.clock)
  const versions = startBackgroundTasks(app, options)
  const cache = createStatsCache(options, { versions, readToday, log: app.log })

  app.get(
    statsPath,
    {
      schema: {
        querystring: StatsQuery,
        response: {
          // The schema of 200 is for the API documentation only.
          200: Stats,
          304: Type.Null({ description: 'Not modified' }),
          '4xx': ProblemBody,
          '5xx': ProblemBody,
        },
      },
      serializerCompiler: serializeOnlyProblems,
      config: { requiredScope: 'stats:read' },
      preParsing: rateLimit,
    },
    async (request, reply) => {
      const { query } = request
      // Checked before the cache is read, because all callers share it.
      if (hasBreakdown(query))
        access.requireAdditionalScope(request, 'stats:detail', `by=${query.by}`)
      const today = readToday()
      checkPeriod(query, today)
      checkCodes(query)
      const negotiated = negotiate(request.headers)
      const format = chooseFormat(negotiated, query)
      const stats = await cache.read({ ...query, today }).catch(rethrowAsProblem)
      observer.countResponse(stats.cacheResult)
      request.logFields = loggedFieldsOf(stats)
      return sendStats(request, reply, stats, { format, encoding: negotiated.encoding })
    },
  )
}

/**
 * Starts to poll the data version, to fold changes, and to check for drift. All stop when the app
 * closes. Returns the poller of the data version.
 */
function startBackgroundTasks(
  app: FastifyInstance,
  { db, replica, redis, redisPrefix, observer, driftCheckMs }: StatsOptions,
): DataVersionPoller {
  const versions = createDataVersionPoller(
    db,
    shareDataVersions(redis, redisPrefix),
    replica?.history ?? null,
  )
  versions.start()
  const tasks = [
    versions,
    startFolding(db, { log: app.log, observer }),
    startDriftCheck(db, { log: app.log, observer, intervalMs: driftCheckMs }),
  ]
  app.addHook('onClose', async () => {
    await Promise.all(tasks.map((task) => task.stop()))
  })
  return versions
}

function createStatsCache(
  { db, replica, redis, redisPrefix, company }: StatsOptions,
  {
    versions,
    readToday,
    log,
  }: { versions: DataVersionPoller; readToday: () => string; log: FastifyBaseLogger },
): StatsCache {
  const source = {
    db,
    replica,
    company,
    isPrimaryFailing: () => versions.isFailing(dataVersionResponseMs),
  }
  return new StatsCache({
    redisCache: new SharedStatsCache(redis, redisPrefix),
    versions,
    readToday,
    compute: (request) => readStatsPreferringReplica(source, request),
    log,
    recordCachedPosition: (position) => replica?.history.recordCachedPosition(position),
  })
}

/**
 * Throws an `unavailable` problem if PostgreSQL cannot answer now, and otherwise the error. A
 * TimeoutError from StatsCache also becomes `unavailable`.
 */
function rethrowAsProblem(cause: unknown): never {
  if (!isPostgresUnavailable(cause)) throw cause
  throw new Problem('unavailable', unavailableDetail, {
    headers: { 'retry-after': String(retryAfterMs / 1_000) },
    cause,
  })
}

/**
 * The Cache-Status header (RFC 9211). `fwd=stale` deviates from it: older statistics are sent,
 * because their refresh failed or is slow. The RFC would write `hit` with a negative `ttl`, and
 * `fwd=stale` only if the refresh had succeeded. Clients recognize older statistics by `fwd=stale`,
 * as openapi.ts says, so it stays.
 */
const cacheStatus: Record<CacheResult, string> = {
  hit: 'stats; hit',
  shared: 'stats; hit; detail=shared',
  miss: 'stats; fwd=miss',
  collapsed: 'stats; fwd=miss; collapsed',
  stale: 'stats; fwd=stale',
}

function cacheStatusOf({ cacheResult, staleReason }: CachedStats): string {
  const status = cacheStatus[cacheResult]
  return staleReason === null ? status : `${status}; detail="${staleReason}"`
}

/**
 * `source` is the CacheResult: `shared` means the cache in Redis, not a server. `reason` is the
 * StaleReason. The log lines of searches have the same fields with other values.
 */
function loggedFieldsOf({ cacheResult, staleReason }: CachedStats): LogFields {
  const source = cacheResult
  return staleReason === null ? { source } : { source, degraded: true, reason: staleReason }
}

const csvType = 'text/csv; charset=utf-8; header=present'
const contentTypes: Record<Format, string> = {
  json: 'application/json; charset=utf-8',
  csv: csvType,
  'csv-point': csvType,
  'csv-comma': csvType,
}

function sendStats(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  stats: CachedStats,
  { format, encoding }: { format: Format; encoding: ContentEncoding },
): FastifyReply | Promise<FastifyReply> {
  const { bodies, ageMs, asOf } = stats
  const etag = bodies.etagOf(format)
  reply
    .header('cache-control', 'private, no-cache')
    .header('vary', 'accept, accept-encoding')
    .header('etag', etag)
    .header('age', String(Math.floor(ageMs / 1_000)))
    .header('cache-status', cacheStatusOf(stats))
  if (matchesEtag(headers['if-none-match'], etag)) return reply.code(304).send()
  const send = (body: Buffer) => {
    if (encoding !== 'identity') reply.header('content-encoding', encoding)
    if (format !== 'json')
      reply.header('content-disposition', `attachment; filename="${bodies.fileName}.csv"`)
    return reply.type(contentTypes[format]).send(body)
  }
  const body = bodies.get(format, encoding, asOf)
  return body instanceof Promise ? body.then(send) : send(body)
}
