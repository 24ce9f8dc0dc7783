// GET /api/stats: statistics over quotes, as JSON or CSV, with an ETag and the age of the data.
//
// Terms, each with one meaning in src/stats:
// - figures: the counts and amounts that are added up. The SQL function quote_figures_of says what
//   a quote contributes.
// - summary: the tables that hold the figures of days, months and years, so that no request reads
//   all quotes. docs/data-model.md describes them.
// - grain: what one row of the summary covers. A row of `day`, `month` or `year` covers one
//   country; a row of `day_total`, `month_total` or `year_total` covers all countries.
// - validity: the sent quotes by their last valid day, which decides whether they are still open.
// - fold: to move changes, which writers only append, into the summary. Readers add the unfolded
//   changes themselves, so folding changes no answer.
// - breakdown: the totals by customer or by product. `rest` is all of them after the first 50.
// - data version: a `generation` and a number of `changes`. Every commit that changes a statistic
//   adds changes. A rebuild, a truncate or a restored backup begins another generation.
// - reading: a data version that was read from PostgreSQL, with the time.
// - exchange: one step in which API processes share readings through Redis. A mark proves that a
//   reading is new enough (cache/data-version-exchange.ts).
// - position: a place in PostgreSQL's write-ahead log (WAL), to compare a replica with the primary.
// - drift: rows of the summary that differ from the quotes.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import type { Access } from '../auth/access-control.ts'
import { toLocalDate } from '../company/calendar.ts'
import type { Company } from '../company/company.ts'
import type { Replica } from '../database/replica/replica.ts'
import type { Tables } from '../database/table-types.ts'
import { matchesEtag } from '../http/etag.ts'
import { Problem, ProblemBody } from '../http/problem-details.ts'
import type { LogFields } from '../http/request-log.ts'
import type { RateLimit } from '../rate-limits/request-rate-limits.ts'
import type { RedisAccess } from '../redis/optional-redis.ts'
import { timeouts } from '../timeouts.ts'
import { DataVersionExchange } from './cache/data-version-exchange.ts'
import { DataVersionPoller } from './cache/data-version-poller.ts'
import { SharedStatsCache } from './cache/shared-stats-cache.ts'
import { type CachedAnswer, type CacheOutcome, StatsCache } from './cache/stats-cache.ts'
import { checkCodes } from './country-and-currency-codes.ts'
import { chooseFormat, negotiate } from './negotiate-format.ts'
import { checkPeriod } from './period-limits.ts'
import { readStatsPreferringReplica } from './replica-or-primary.ts'
import type { Encoding, Format } from './response-body.ts'
import { listsNames, Stats, StatsQuery } from './schema.ts'
import { type DriftObserver, startDriftCheck } from './summary/drift-check.ts'
import { type FoldObserver, startFolding } from './summary/fold-changes.ts'

export type StatsOptions = {
  db: Kysely<Tables>
  /** Null if statistics are always computed from the primary. */
  replica: Replica | null
  redis: RedisAccess | null
  cachePrefix: string
  company: Company
  access: Access
  rateLimit: RateLimit
  clock: () => Date
  /** The time between two comparisons of a month of the summary with the quotes. */
  driftCheckMs: number
  observer: StatsObserver
}

/** Counts the answers by cache outcome, and what the background tasks do. */
export type StatsObserver = FoldObserver &
  DriftObserver & { countAnswer(outcome: CacheOutcome): void }

export const statsRoutes: FastifyPluginAsyncTypebox<StatsOptions> = async (app, options) => {
  const { db, replica, redis, cachePrefix, company, access, rateLimit, clock, observer } = options
  const versions = new DataVersionPoller(
    db,
    new DataVersionExchange(redis, cachePrefix),
    replica?.history ?? null,
  )
  versions.start()
  const tasks = [
    versions,
    startFolding(db, { log: app.log, observer }),
    startDriftCheck(db, { log: app.log, observer, intervalMs: options.driftCheckMs }),
  ]
  app.addHook('onClose', async () => void (await Promise.all(tasks.map((task) => task.stop()))))

  const readToday = localDayOf(clock, company.timeZone)
  const source = { db, replica, company, isPrimaryFailing: () => versions.isFailing() }
  const cache = new StatsCache({
    shared: new SharedStatsCache(redis, cachePrefix),
    versions,
    readToday,
    compute: async (request) => {
      const { stats, ...reading } = await readStatsPreferringReplica(source, request)
      return { body: JSON.stringify(stats), ...reading }
    },
    recordSentPosition: (position) => replica?.history.recordSentPosition(position),
  })

  app.get(
    '/api/stats',
    {
      schema: {
        querystring: StatsQuery,
        response: {
          200: Stats,
          304: Type.Null({ description: 'Not modified' }),
          '4xx': ProblemBody,
          '5xx': ProblemBody,
        },
      },
      onRequest: access.requireScope('stats:read'),
      preParsing: rateLimit,
    },
    (request, reply) => {
      const { query } = request
      // Checked before the cache is read: it has the answers of every caller.
      if (listsNames(query)) access.checkFurtherScope(request, 'stats:detail', `by=${query.by}`)
      const today = readToday()
      checkPeriod(query, today)
      checkCodes(query)
      const negotiated = negotiate(request.headers)
      const format = chooseFormat(negotiated, query)
      const respond = (answer: CachedAnswer) => {
        observer.countAnswer(answer.outcome)
        request.logFields = loggedOutcomes[answer.outcome]
        sendAnswer(request, reply, answer, { format, encoding: negotiated.encoding })
      }
      const cached = cache.read({ ...query, today })
      if (!(cached instanceof Promise)) return respond(cached)
      return cached.catch(throwUnavailable).then(respond)
    },
  )
}

/**
 * Returns a function that gives the current local day. It formats the date once a second, because
 * formatting costs as much as all other work for a cached answer. A day begins with a new second.
 */
function localDayOf(clock: () => Date, timeZone: string): () => string {
  let [second, day] = [Number.NaN, '']
  return () => {
    const now = clock()
    const currentSecond = Math.floor(now.getTime() / 1_000)
    if (currentSecond !== second) [second, day] = [currentSecond, toLocalDate(timeZone, now)]
    return day
  }
}

function throwUnavailable(cause: unknown): never {
  throw new Problem(
    'unavailable',
    'The statistics cannot be computed at the moment. Try again in a moment.',
    { headers: { 'retry-after': String(timeouts.stats.retryAfter.ms / 1_000) }, cause },
  )
}

/** The Cache-Status header (RFC 9211). */
const cacheStatus: Record<CacheOutcome, string> = {
  hit: 'stats; hit',
  shared: 'stats; hit; detail=shared',
  miss: 'stats; fwd=miss',
  collapsed: 'stats; fwd=miss; collapsed',
  stale: 'stats; fwd=stale; detail="not refreshed in time"',
}

const loggedOutcomes: Record<CacheOutcome, LogFields> = {
  hit: { source: 'hit' },
  shared: { source: 'shared' },
  miss: { source: 'miss' },
  collapsed: { source: 'collapsed' },
  stale: { source: 'stale', degraded: true, reason: 'not refreshed in time' },
}

const csvType = 'text/csv; charset=utf-8; header=present'
const contentTypes: Record<Format, string> = {
  json: 'application/json; charset=utf-8',
  'csv-en': csvType,
  'csv-es': csvType,
}

function sendAnswer(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { bodies, outcome, ageMs, asOf }: CachedAnswer,
  { format, encoding }: { format: Format; encoding: Encoding },
): void {
  const etag = bodies.etagOf(format)
  reply
    .header('cache-control', 'private, no-cache')
    .header('vary', 'accept, accept-encoding')
    .header('etag', etag)
    .header('age', ageMs < 1_000 ? '0' : String(Math.floor(ageMs / 1_000)))
    .header('cache-status', cacheStatus[outcome])
  if (matchesEtag(headers['if-none-match'], etag)) return void reply.code(304).send()
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  if (format !== 'json') reply.header('content-disposition', 'attachment; filename="stats.csv"')
  reply.type(contentTypes[format]).send(bodies.get(format, encoding, asOf))
}
