// GET /quote/share/{token}: the quote that a customer opens from a link, as page, JSON or PDF.
// docs/architecture.md explains the terms, and failures.ts lists what the visitor gets for each
// reason why the quote cannot be shown.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyError, FastifyReply } from 'fastify'
import type { Kysely } from 'kysely'
import type { Company } from '../company/company-file.ts'
import type { Tables } from '../database/table-types.ts'
import { quoteLinkPath } from '../http/endpoint-paths.ts'
import { logProblem, toProblem } from '../http/error-handlers.ts'
import {
  addProblemToRequestLog,
  type Problem,
  ProblemBody,
  sendProblem,
  serializeOnlyProblems,
} from '../http/problem-details.ts'
import type { GuessLimit } from '../rate-limits/guess-limit.ts'
import type { TargetRateLimit } from '../rate-limits/request-rate-limits.ts'
import { failureRules, getRenderingFailureReason, isFailedPdf, QuoteFailure } from './failures.ts'
import { createLinkReader, requireOpen } from './links/read-link.ts'
import { createViewCounter, isHumanView } from './links/view-counter.ts'
import { QuoteRenderer } from './rendering/quote-renderer.ts'
import { getRequestedFormat, getRequestedLocale } from './requested-representation.ts'
import {
  buildErrorPageResponse,
  buildResponse,
  createErrorPagesOutsideRoute,
  createLinkResponseHeaders,
  describeFailure,
  describeProblem,
  type LinkResponse,
} from './responses.ts'
import { LinkedQuote } from './schema.ts'

// Requests for running renderings still get an answer: their connections are closed a second later.
export const stopRenderingTimeout = { ms: 4_000 }

export type QuoteOptions = {
  db: Kysely<Tables>
  company: Company
  /** Counts and limits the requests for each link. */
  rateLimit: TargetRateLimit
  /** Limits requests for unknown links. It never rejects a request for a known link. */
  guessLimit: GuessLimit
  countViews: boolean
  /** Whether links begin with https. Then current browsers say how a page is opened. */
  isHttps: boolean
  /** Whether pages have links that start an email to the seller. */
  offersReplies: boolean
  /** `countFailedPdf`: a request got no PDF, perhaps because of an earlier failure. */
  observer: { countAlteredDocument(): void; countFailedPdf(): void }
  clock: () => Date
}

const parameters = {
  params: Type.Object({ token: Type.String({ description: 'The 43 characters of the link' }) }),
  // Unknown parameters are ignored, because email tools append their own.
  querystring: Type.Object({
    format: Type.Optional(Type.Unknown()),
    lang: Type.Optional(Type.Unknown()),
  }),
}

export const quoteRoutes: FastifyPluginAsyncTypebox<QuoteOptions> = async (app, options) => {
  const { db, company, rateLimit, guessLimit, isHttps, offersReplies, observer, clock } = options
  const { brand, timeZone } = company
  const linkResponseHeaders = createLinkResponseHeaders(brand)
  const links = createLinkReader({ db, timeZone, clock, observer })
  const renderer = new QuoteRenderer({ brand, offersReplies, timeZone })
  const countView = options.countViews ? createViewCounter(db, app.log) : null

  // Running renderings may finish. The requests for those that do not get a page that asks the
  // visitor to try again.
  let closeTimer: NodeJS.Timeout | undefined
  app.addHook('preClose', (done) => {
    closeTimer = setTimeout(() => renderer.close(), stopRenderingTimeout.ms)
    done()
  })
  app.addHook('onClose', async () => {
    clearTimeout(closeTimer)
    renderer.close()
  })

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
      const { token } = request.params
      // 1. Find the link by the hash of its token. Only after this query is it known whether the
      //    token was guessed. So every guess costs one query on the primary, even if it gets 429.
      //    The connection pool limits how many of these queries run at once.
      const found = await links.readState(token)
      // 2. Limit requests: for unknown links by the caller's IP address, for known links by their
      //    id. So customers who share an IP address with an attacker can open their links.
      if (found.state === 'unknown_link') await guessLimit.recordGuessOrReject(request)
      else await rateLimit(request, reply, found.linkId)
      // 3. Check that the link is open, and choose page, JSON or PDF.
      const link = requireOpen(found)
      const format = getRequestedFormat(request)
      if (format === null) throw new QuoteFailure('not_acceptable')
      // 4. Take the content from the cache, or read and verify the document and render it.
      const language = getRequestedLocale(request.query)
      const rendered = renderer.getOrRender(link, format, language, {
        readVerifiedDocument: () => links.readVerifiedDocument(token, link),
        logFailure: (error) => {
          const reason = getRenderingFailureReason(error)
          const { code } = failureRules[reason]
          // scripts/share.ts lists the links of a quote with their ids.
          const fields = { err: error, code, reason, linkId: link.linkId, format }
          request.log.error(fields, 'quote not shown')
        },
      })
      const { rendering, isCached } = await rendered.catch((error: unknown) => {
        if (format === 'pdf' && isFailedPdf(error)) observer.countFailedPdf()
        throw error
      })
      const response = await buildResponse(request.headers, format, rendering)
      // 5. The link may have been closed during the rendering.
      if (!isCached) requireOpen(await links.readState(token))
      // 6. Count the view in the background.
      if (isHumanView(request, isHttps)) countView?.(link.linkId)
      return sendResponse(reply, response)
    },
  )
}

function sendResponse(reply: FastifyReply, { headers, bytes }: LinkResponse): FastifyReply {
  return reply.headers(headers).send(bytes)
}
