// The report on what people search for: GET /dashboard/searches, and what the command line shows.
import { type FastifyPluginAsyncTypebox, Type } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { AccessControl } from '../auth/access-control.ts'
import type { Tables } from '../database/table-types.ts'
import { noStore } from '../http/common-headers.ts'
import { ProblemBody } from '../http/problem-details.ts'
import type { CallerRateLimit } from '../rate-limits/request-rate-limits.ts'

/** The function purge_search_report deletes what is older. */
export const maxReportDays = 90
const maxReportTexts = 50

const ReportedTexts = Type.Array(
  Type.Object({ text: Type.String(), searches: Type.Integer(), withoutResult: Type.Integer() }),
)
const SearchReport = Type.Object({
  /** The first day, in UTC. */
  from: Type.String(),
  days: Type.Integer(),
  searches: Type.Integer(),
  withoutResult: Type.Integer(),
  frequent: ReportedTexts,
  unsuccessful: ReportedTexts,
  unknownWords: ReportedTexts,
})
export type SearchReport = Static<typeof SearchReport>
export type ReportedText = SearchReport['frequent'][number]

/** Returns the most frequent texts of the last `days` days (UTC), today included. */
export async function readSearchReport(db: Kysely<Tables>, days: number): Promise<SearchReport> {
  const from = new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10)
  const listTexts = (condition: RawBuilder<unknown>, order: RawBuilder<unknown>) => sql`(
    select coalesce(json_agg(listed), '[]') from (
      select text, searches, "withoutResult" from texts where ${condition}
      order by ${order} desc, text limit ${sql.lit(maxReportTexts)}
    ) as listed
  )`
  const { rows } = await sql<Omit<SearchReport, 'from' | 'days'>>`
    with texts as materialized (
      select kind, text, sum(searches)::float8 as searches,
        sum(without_result)::float8 as "withoutResult"
      from search_report_counts where day >= ${from} group by kind, text
    )
    select coalesce(sum(searches), 0)::float8 as searches,
      coalesce(sum(without_result), 0)::float8 as "withoutResult",
      ${listTexts(sql`kind = 'query'`, sql`searches`)} as frequent,
      ${listTexts(sql`kind = 'query' and "withoutResult" > 0`, sql`"withoutResult"`)}
        as unsuccessful,
      ${listTexts(sql`kind = 'word'`, sql`searches`)} as "unknownWords"
    from search_report_days where day >= ${from}
  `.execute(db)
  const [report] = rows
  if (!report) throw new Error('The report query returned no row.')
  return { from, days, ...report }
}

export const searchReportRoutes: FastifyPluginAsyncTypebox<{
  db: Kysely<Tables>
  access: AccessControl
  rateLimit: CallerRateLimit
}> = async (app, { db, access, rateLimit }) => {
  app.get(
    '/dashboard/searches',
    {
      schema: {
        querystring: Type.Object(
          { days: Type.Integer({ minimum: 1, maximum: maxReportDays, default: 30 }) },
          { additionalProperties: false },
        ),
        response: { 200: SearchReport, '4xx': ProblemBody, '5xx': ProblemBody },
      },
      config: { requiredScope: 'stats:read' },
      preParsing: rateLimit,
    },
    async (request, reply) => {
      access.requireAdditionalScope(request, 'stats:detail', 'What people search for')
      reply.header('cache-control', noStore)
      return readSearchReport(db, request.query.days)
    },
  )
}
