// GET /quote/share/{token}: the quote that a customer opens from a link, as page, JSON or PDF.
//
// The life of a request, whose steps 2 to 8 are QuoteLinkHandler.buildResponse:
//
// 1. This file registers the route. It adds the headers of links/link-response-headers.ts, and
//    turns every error into an error page or JSON.
// 2. readLink (read-shared-quote.ts) finds the row of the link by the hash of its token, always on
//    the primary. An unknown link is 404, an expired or revoked one 410 (links/link-problems.ts).
// 3. countLinkRequest limits the requests for each link: 429.
// 4. VerifiedLinks.hadOtherHash: the hash of a link never changes. If it did, the quote is not
//    shown.
// 5. chooseRepresentation (choose-representation.ts) decides by ?format= and Accept.
//    - A page or JSON comes from the cache of PageRenderer (rendering/page-renderer.ts). Otherwise,
//      up to 32 kB, DocumentReader (document-reader.ts) reads the document from the replica or the
//      primary and compares its hash, and renderSmall renders it in this process.
//    - A larger one: renderLarge puts it into a RenderingQueue (rendering/rendering-queue.ts). When
//      its turn comes, RenderingProcess (rendering/rendering-process.ts) sends a task to a child
//      process (rendering/large-page-process-main.ts), which reads, compares, renders, compresses.
//    - A PDF comes from the cache of PdfRenderer (pdf/pdf-renderer.ts). Otherwise it waits in the
//      queue for PDFs. When its turn comes, DocumentReader reads the document, and a second child
//      process (pdf/pdf-process-main.ts) compiles it with Typst.
//    A page is buildQuoteViewModel (view-model/) and the templates in page/. A PDF is the same view
//    model and pdf/pdf-template.typ. JSON contains the document as it was frozen.
//    Without a result in ten seconds, with a full queue, or after a failure the response is 503
//    with Retry-After (rendering/rendering-error.ts). A rendering goes on without its request.
// 6. Unless the result was cached, readLink runs again, because rendering takes time: nobody sees a
//    quote whose link was closed meanwhile.
// 7. buildPageOrJsonResponse (links/link-responses.ts) chooses the encoding that the client
//    accepts. buildPdfResponse names the file.
// 8. A cached result may belong to another link to the same content. If this process has not read
//    the document of this link since its row changed, it reads and compares it now, and readLink
//    runs again. Then createViewCounter (view-counter.ts) counts the view in the background, and
//    sendResponse sends the bytes.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyError, FastifyReply } from 'fastify'
import { defaultBrand } from '../company/brand.ts'
import { quoteLinkPath } from '../http/endpoint-paths.ts'
import { logProblem, toProblem } from '../http/error-handlers.ts'
import { addProblemToLog, type Problem, ProblemBody, sendProblem } from '../http/problem-details.ts'
import { quoteLinkDelayFactor } from '../overload/rejection-order.ts'
import type { TargetRateLimit } from '../rate-limits/request-rate-limits.ts'
import { createEarlyErrorPages } from './early-error-pages.ts'
import { createLinkResponseHeaders } from './links/link-response-headers.ts'
import { buildErrorPageResponse, type LinkResponse } from './links/link-responses.ts'
import { QuoteLinkHandler, type QuoteOptions } from './quote-link-handler.ts'
import { SharedQuote } from './schema.ts'

/** `rateLimit` counts and limits the requests for each link. */
type RouteOptions = QuoteOptions & { rateLimit: TargetRateLimit }

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
  const linkResponseHeaders = createLinkResponseHeaders(company.brand ?? defaultBrand)
  const handler = new QuoteLinkHandler(options)
  app.addHook('preClose', (done) => {
    handler.closeSoon()
    done()
  })
  app.addHook('onClose', async () => handler.close())

  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(linkResponseHeaders)
    done()
  })

  app.setErrorHandler((error: FastifyError | Problem, request, reply) => {
    const problem = toProblem(error)
    logProblem(request, problem, error)
    reply.headers(linkResponseHeaders)
    const page = buildErrorPageResponse(request, problem, company.seller)
    if (!page) return sendProblem(request, reply, problem)
    addProblemToLog(request, problem)
    return sendResponse(reply.code(problem.status), page)
  })

  app.get(
    quoteLinkPath,
    {
      schema: {
        ...parameters,
        response: { 200: SharedQuote, '4xx': ProblemBody, '5xx': ProblemBody },
      },
      config: {
        maxDelayFactor: quoteLinkDelayFactor,
        buildOverloadPage: createEarlyErrorPages(company),
      },
    },
    async (request, reply) => {
      const response = await handler.buildResponse({
        method: request.method,
        ip: request.ip,
        headers: request.headers,
        query: request.query,
        params: request.params,
        countLinkRequest: (linkId) => rateLimit(request, reply, linkId),
        log: request.log,
      })
      return sendResponse(reply, response)
    },
  )
}

/** Sends text or bytes unchanged, without the route's serializer. */
function sendResponse(reply: FastifyReply, { headers, bytes }: LinkResponse): FastifyReply {
  return reply
    .headers(headers)
    .serializer(String)
    .send(bytes as never)
}
