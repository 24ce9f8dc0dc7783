// GET /api/stats: statistics over quotes, as JSON or CSV, with an ETag and the age of the data.
// docs/architecture.md follows a request and a changed quote through these files.
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import { TimeoutError } from 'p-timeout'
import type { AccessControl } from '../auth/access-control.ts'
import { createLocalDateReader } from '../company/calendar.ts'
import type { Company } from '../company/company-file.ts'
import { isPostgresUnavailable } from '../database/failover/broken-connections.ts'
import type { Tables } from '../database/table-types.ts'
import { type ContentEncoding, matchesEtag } from '../http/compressed-content.ts'
import { statsPath } from '../http/endpoint-paths.ts'
import { Problem, ProblemBody, serializeOnlyProblems } from '../http/problem-details.ts'
import type { CallerRateLimit } from '../rate-limits/request-rate-limits.ts'
import type { RedisAccess } from '../redis/optional-redis.ts'
import { type ComputedStats, SharedStatsCache } from './cache/shared-stats-cache.ts'
import { type CachedStats, type CacheResult, StatsCache } from './cache/stats-cache.ts'
import { checkCodes } from './check-codes.ts'
import { checkPeriod } from './check-period.ts'
import { chooseFormat, negotiate } from './negotiate-format.ts'
import { readStats } from './read-stats.ts'
import type { Format } from './response-body.ts'
import { hasBreakdown, Stats, StatsQuery, type StatsRequest, unavailableDetail } from './schema.ts'
import { type CheckObserver, startMonthChecks } from './summary/check-months.ts'
import { type FoldObserver, SummaryFollower } from './summary/summary-follower.ts'

// A PostgreSQL that hangs must not keep the app from starting.
const readyWaitMs = 2_000
// Most connection failures end within a few seconds.
const retryAfterMs = 2_000

export type StatsOptions = {
  db: Kysely<Tables>
  redis: RedisAccess | null
  redisPrefix: string
  company: Company
  access: AccessControl
  rateLimit: CallerRateLimit
  clock: () => Date
  /** The time between two checks, each of a month of the summary. */
  driftCheckMs: number
  observer: StatsObserver
}

/**
 * Counts the responses with statistics by what the cache found, and what the background tasks do.
 * Failed requests are in tqs_requests_total, which counts by status.
 */
export type StatsObserver = FoldObserver &
  CheckObserver & { countResponse(cacheResult: CacheResult): void }

export const statsRoutes: FastifyPluginAsyncTypebox<StatsOptions> = async (app, options) => {
  const { access, rateLimit, observer } = options
  const readToday = createLocalDateReader(options.company.timeZone, options.clock)
  const summary = startBackgroundTasks(app, options)
  const cache = new StatsCache({
    redisCache: new SharedStatsCache(options.redis, options.redisPrefix),
    summary,
    compute: (request) => computeStats(options, summary, request),
    log: app.log,
  })

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
      checkPeriod(query, readToday())
      checkCodes(query)
      const negotiated = negotiate(request.headers)
      const format = chooseFormat(negotiated, query)
      const stats = await cache.read(query).catch(rethrowAsProblem)
      observer.countResponse(stats.cacheResult)
      const source = stats.cacheResult
      request.logFields = source === 'stale' ? { source, degraded: true } : { source }
      return sendStats(request, reply, stats, { format, encoding: negotiated.encoding })
    },
  )
}

/**
 * Starts to follow the summary and to check its months. Both stop when the app closes. The app is
 * ready after the first poll, which folds what waits.
 */
function startBackgroundTasks(
  app: FastifyInstance,
  { db, observer, driftCheckMs }: StatsOptions,
): SummaryFollower {
  const summary = new SummaryFollower(db, { log: app.log, observer })
  const checks = startMonthChecks(db, { log: app.log, observer, intervalMs: driftCheckMs })
  app.addHook('onReady', () => Promise.race([summary.start(), sleep(readyWaitMs)]))
  app.addHook('onClose', async () => {
    await Promise.all([summary.stop(), checks.stop()])
  })
  return summary
}

/** Throws a TimeoutError until the quotes are folded for the first time. */
async function computeStats(
  { db, company }: StatsOptions,
  summary: SummaryFollower,
  request: StatsRequest,
): Promise<ComputedStats> {
  const { stats, state, readAt } = await readStats(db, company, request)
  const knownCurrentAt = summary.currentAtOf(state, readAt)
  if (knownCurrentAt === Number.NEGATIVE_INFINITY)
    throw new TimeoutError('The quotes have not been folded yet')
  return { stats, version: state.version, knownCurrentAt }
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
  miss: 'stats; fwd=miss',
  collapsed: 'stats; fwd=miss; collapsed',
  stale: 'stats; fwd=stale',
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
  const { bodies, cacheResult, ageMs, asOf } = stats
  const etag = bodies.etagOf(format)
  reply
    .header('cache-control', 'private, no-cache')
    .header('vary', 'accept, accept-encoding')
    .header('etag', etag)
    .header('age', String(Math.floor(ageMs / 1_000)))
    .header('cache-status', cacheStatus[cacheResult])
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
