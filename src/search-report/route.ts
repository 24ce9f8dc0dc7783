// GET /dashboard/searches: what people search for, for the dashboard.
import { type FastifyPluginAsyncTypebox, Type } from '@fastify/type-provider-typebox'
import type { Kysely } from 'kysely'
import type { AccessControl } from '../auth/access-control.ts'
import type { Tables } from '../database/table-types.ts'
import { noStore } from '../http/common-headers.ts'
import { ProblemBody } from '../http/problem-details.ts'
import type { CallerRateLimit } from '../rate-limits/request-rate-limits.ts'
import { maxReportDays, readSearchReport, SearchReport } from './read-report.ts'

export type SearchReportOptions = {
  db: Kysely<Tables>
  access: AccessControl
  rateLimit: CallerRateLimit
}

const ReportQuery = Type.Object(
  { days: Type.Integer({ minimum: 1, maximum: maxReportDays, default: 30 }) },
  { additionalProperties: false },
)

export const searchReportRoutes: FastifyPluginAsyncTypebox<SearchReportOptions> = async (
  app,
  { db, access, rateLimit },
) => {
  app.get(
    '/dashboard/searches',
    {
      schema: {
        querystring: ReportQuery,
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
