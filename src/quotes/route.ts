// GET /quote/share/{token}: the quote that a customer opens from a link, as page, JSON or PDF.
// QuoteLinkHandler performs the steps of a request. This file sends their result or error.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyError, FastifyReply } from 'fastify'
import { quoteLinkPath } from '../http/endpoint-paths.ts'
import { logProblem, toProblem } from '../http/error-handlers.ts'
import {
  addProblemToRequestLog,
  type Problem,
  ProblemBody,
  sendProblem,
  serializeOnlyProblems,
} from '../http/problem-details.ts'
import type { TargetRateLimit } from '../rate-limits/request-rate-limits.ts'
import { QuoteFailure } from './failures.ts'
import { QuoteLinkHandler, type QuoteOptions } from './quote-link-handler.ts'
import { getRequestedFormat } from './requested-representation.ts'
import {
  buildErrorPageResponse,
  createErrorPagesOutsideRoute,
  createLinkResponseHeaders,
  describeFailure,
  describeProblem,
  type LinkResponse,
} from './responses.ts'
import { LinkedQuote } from './schema.ts'

/** `rateLimit` counts and limits the requests for each link. */
type RouteOptions = Omit<QuoteOptions, 'log'> & { rateLimit: TargetRateLimit }

const parameters = {
  params: Type.Object({ token: Type.String({ description: 'The 43 characters of the link' }) }),
  // Unknown parameters are ignored, because email tools append their own.
  querystring: Type.Object({
    format: Type.Optional(Type.Unknown()),
    lang: Type.Optional(Type.Unknown()),
  }),
}

export const quoteRoutes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, options) => {
  const { company, rateLimit } = options
  const linkResponseHeaders = createLinkResponseHeaders(company.brand)
  const handler = new QuoteLinkHandler({ ...options, log: app.log })
  app.addHook('preClose', (done) => {
    handler.closeSoon()
    done()
  })
  app.addHook('onClose', async () => handler.close())

  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(linkResponseHeaders)
    done()
  })

  app.setErrorHandler((error: FastifyError | Problem | QuoteFailure, request, reply) => {
    const described =
      error instanceof QuoteFailure
        ? describeFailure(error, company.seller, getRequestedFormat(request))
        : describeProblem(toProblem(error))
    const { problem } = described
    logProblem(request, problem, error)
    // Sets the headers again, because an error before onRequest skips the hook above.
    reply.headers(linkResponseHeaders)
    const page = buildErrorPageResponse(request, described, company.seller)
    if (!page) return sendProblem(request, reply, problem)
    // sendProblem does this for JSON.
    addProblemToRequestLog(request, problem)
    return sendResponse(reply.code(problem.status), page)
  })

  app.get(
    quoteLinkPath,
    {
      schema: {
        ...parameters,
        // The schema of 200 is for the API documentation only.
        response: { 200: LinkedQuote, '4xx': ProblemBody, '5xx': ProblemBody },
      },
      serializerCompiler: serializeOnlyProblems,
      config: {
        // The link itself is the permission.
        requiredScope: null,
        // Under overload, searches are rejected first: opening a quote matters more than a search
        // while somebody types. A request for a quote is rejected only when the event loop delay is
        // four times the limit for searches.
        maxDelayFactor: 4,
        buildOverloadPage: createErrorPagesOutsideRoute(company),
      },
    },
    async (request, reply) => {
      const response = await handler.buildResponse(request, (linkId) =>
        rateLimit(request, reply, linkId),
      )
      return sendResponse(reply, response)
    },
  )
}

function sendResponse(reply: FastifyReply, { headers, bytes }: LinkResponse): FastifyReply {
  return reply.headers(headers).send(bytes)
}
