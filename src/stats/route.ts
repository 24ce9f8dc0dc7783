// GET /api/stats: figures over quotes, exact, dated, as one finished buffer with its ETag.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { Redis } from 'ioredis'
import type { Kysely } from 'kysely'
import type { Access } from '../access/caller.ts'
import type { RateLimit } from '../access/rate-limits.ts'
import { isLocalDate, localDate } from '../calendar.ts'
import type { Company } from '../company.ts'
import type { Tables } from '../database/tables.ts'
import { invalidParameter, Problem, ProblemBody } from '../problem.ts'
import { answerCache } from './cache.ts'
import { readFigures } from './figures.ts'
import { Stats, StatsQuery } from './schema.ts'

export type StatsOptions = {
  db: Kysely<Tables>
  redis: Redis | null
  cachePrefix: string
  company: Company
  access: Access
  rateLimit: RateLimit
  clock: () => Date
}

export const statsRoutes: FastifyPluginAsyncTypebox<StatsOptions> = async (app, options) => {
  const { db, redis, cachePrefix, company, access, rateLimit, clock } = options
  const cached = answerCache(redis, cachePrefix, () => clock().getTime())

  app.get(
    '/api/stats',
    {
      schema: {
        querystring: StatsQuery,
        response: { 200: Stats, 304: Type.Null({ description: 'Not modified' }), '4xx': ProblemBody, '5xx': ProblemBody },
      },
      onRequest: access.requireScope('stats:read'),
      config: { rateLimit },
    },
    async (request, reply) => {
      checkPeriod(request.query)
      const wanted = { ...request.query, today: localDate(company.timeZone, clock()) }
      const key = JSON.stringify([wanted.today, wanted.from, wanted.to, wanted.date, wanted.country, wanted.compare])
      const { answer, how } = await cached(key, async () => JSON.stringify(await readFigures(db, company, wanted))).catch(
        (cause: unknown) => {
          throw new Problem('unavailable', 'The figures cannot be computed at the moment. Try again in a moment.', {
            headers: { 'retry-after': '2' },
            cause,
          })
        },
      )
      reply.headers({
        'cache-control': 'private, no-cache',
        etag: answer.etag,
        age: String(Math.max(0, Math.floor((clock().getTime() - answer.computedAt) / 1000))),
        'cache-status': { hit: 'stats; hit', miss: 'stats; fwd=miss', stale: 'stats; hit; fwd=stale; detail="database unavailable"' }[how],
      })
      if (matches(request.headers['if-none-match'], answer.etag)) return reply.code(304).send(null)
      // The body is finished JSON already: a string is sent as it is.
      return reply
        .type('application/json; charset=utf-8')
        .serializer(String)
        .send(answer.body as unknown as Stats)
    },
  )
}

function checkPeriod({ from, to }: StatsQuery): void {
  for (const [parameter, day] of Object.entries({ from, to })) {
    if (day !== undefined && !isLocalDate(day))
      throw invalidParameter(parameter, `"${day.slice(0, 40)}" is not a day that exists: write YYYY-MM-DD`)
  }
  if (from !== undefined && to !== undefined && from > to) throw invalidParameter('from', `${from} is after to (${to})`)
}

/** If-None-Match by weak comparison, as RFC 9110 has it for GET. */
function matches(header: string | undefined, etag: string): boolean {
  return header !== undefined && (header.trim() === '*' || header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag))
}
