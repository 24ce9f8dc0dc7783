// GET /api/stats: figures over quotes, exact, dated, as finished bytes with their ETag.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Redis } from 'ioredis'
import type { Kysely } from 'kysely'
import type { Access } from '../auth/authentication.ts'
import { countDays, isLocalDate, toLocalDate } from '../company/calendar.ts'
import type { Company } from '../company/company.ts'
import type { Tables } from '../database/table-types.ts'
import { matchesEtag } from '../http/etag.ts'
import { invalidParameter, Problem, ProblemBody } from '../http/problem-details.ts'
import type { RateLimit } from '../rate-limits/request-rate-limits.ts'
import { type Negotiated, negotiate } from './content-negotiation.ts'
import { followPosition } from './data-version.ts'
import { readFigures } from './figures-from-summary.ts'
import { keepFolding } from './fold-deltas.ts'
import type { Encoding, Format } from './response-body.ts'
import { Stats, StatsQuery } from './schema.ts'
import { sharedAnswers } from './shared-stats-cache.ts'
import { answerCache, type Cached, type How } from './stats-cache.ts'

export type StatsOptions = {
  db: Kysely<Tables>
  redis: Redis | null
  cachePrefix: string
  company: Company
  access: Access
  rateLimit: RateLimit
  clock: () => Date
  observer: StatsObserver
}

/** Told how each answer was found. */
export type StatsObserver = { answered(how: How): void }

export const statsRoutes: FastifyPluginAsyncTypebox<StatsOptions> = async (app, options) => {
  const { db, redis, cachePrefix, company, access, rateLimit, clock, observer } = options
  const follower = followPosition(db)
  const folding = keepFolding(db)
  app.addHook('onClose', async () => void (await Promise.all([follower.stop(), folding.stop()])))

  const read = answerCache({
    shared: sharedAnswers(redis, cachePrefix),
    follower,
    compute: async (key, today) => {
      const { figures, position } = await readFigures(db, company, { ...wantedOf(key), today })
      return { body: JSON.stringify(figures), position }
    },
  })

  // Formatting a date costs as much as the rest of a hit: once a second is enough, days begin with a second.
  let [second, day] = [Number.NaN, '']
  function today(): string {
    const now = clock()
    const nowSecond = Math.floor(now.getTime() / 1_000)
    if (nowSecond !== second) [second, day] = [nowSecond, toLocalDate(company.timeZone, now)]
    return day
  }

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
      checkPeriod(query, today())
      const negotiated = negotiate(request.headers)
      const wanted = { format: formatOf(negotiated, query), encoding: negotiated.encoding }
      const cached = read(keyOf(query), today())
      if (!(cached instanceof Promise)) {
        observer.answered(cached.how)
        return void send(request, reply, cached, wanted)
      }
      return cached.catch(unavailable).then((answer) => {
        observer.answered(answer.how)
        send(request, reply, answer, wanted)
      })
    },
  )
}

type Wanted = Pick<StatsQuery, 'from' | 'to' | 'date' | 'country' | 'compare'>

/** Everything that figures depend on beside the data and the local day: company and clock are those of the process. */
function keyOf({ from, to, date, country, compare }: Wanted): string {
  // None of these may hold a blank.
  return `${date} ${from ?? ''} ${to ?? ''} ${country ?? ''} ${compare ?? ''}`
}

function wantedOf(key: string): Wanted {
  const [date, from, to, country, compare] = key.split(' ')
  return {
    date,
    ...(from && { from }),
    ...(to && { to }),
    ...(country && { country }),
    ...(compare && { compare }),
  } as Wanted
}

const longestDays = 200 * 366

function checkPeriod({ from, to }: StatsQuery, today: string): void {
  if (from === undefined && to === undefined) return
  for (const [parameter, day] of Object.entries({ from, to })) {
    if (day !== undefined && !isLocalDate(day))
      throw invalidParameter(
        parameter,
        `"${day.slice(0, 40)}" is not a day that exists between the years 1000 and 9999: write YYYY-MM-DD`,
      )
  }
  // The end that is left out is where the quotes are, which is not known here, and hardly ever as far from today as this.
  if (from === undefined || to === undefined) {
    if (from !== undefined && countDays(from, today) > longestDays)
      throw invalidParameter('from', `${from} is more than 200 years ago`)
    if (to !== undefined && countDays(today, to) > longestDays)
      throw invalidParameter('to', `${to} is more than 200 years from now`)
    return
  }
  if (from > to) throw invalidParameter('from', `${from} is after to (${to})`)
  if (countDays(from, to) > longestDays)
    throw invalidParameter('from', `${from} is more than 200 years before to (${to})`)
}

/** ?format= before Accept. */
function formatOf(negotiated: Negotiated, { format, locale }: StatsQuery): Format {
  const kind = format ?? negotiated.format
  if (kind === null)
    throw new Problem(
      'not_acceptable',
      'Figures are sent as application/json or text/csv: ask for one of them in Accept or ?format=.',
    )
  return kind === 'json' ? 'json' : `csv-${locale}`
}

function unavailable(cause: unknown): never {
  throw new Problem(
    'unavailable',
    'The figures cannot be computed at the moment. Try again in a moment.',
    {
      headers: { 'retry-after': '2' },
      cause,
    },
  )
}

/** RFC 9211: how the answer was found. */
const cacheStatus: Record<How, string> = {
  hit: 'stats; hit',
  shared: 'stats; hit; detail=shared',
  miss: 'stats; fwd=miss',
  collapsed: 'stats; fwd=miss; collapsed',
  stale: 'stats; fwd=stale; detail="not refreshed in time"',
}

type Wish = { format: Format; encoding: Encoding }

function send(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { answer, how, ageMs }: Cached,
  wanted: Wish,
): void {
  const { bytes, etag, type, encoding } = answer.as(wanted.format, wanted.encoding)
  reply
    .header('cache-control', 'private, no-cache')
    .header('vary', 'accept, accept-encoding')
    .header('etag', etag)
    .header('age', ageMs < 1_000 ? '0' : String(Math.floor(ageMs / 1_000)))
    .header('cache-status', cacheStatus[how])
  if (matchesEtag(headers['if-none-match'], etag)) return void reply.code(304).send()
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  if (wanted.format !== 'json')
    reply.header('content-disposition', 'attachment; filename="stats.csv"')
  reply.type(type).send(bytes)
}
