// GET /quote/share/{token}: the quote that a customer opens from a link, as page, JSON or PDF.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import type { Company } from '../company/company.ts'
import type { Tables } from '../database/table-types.ts'
import { logProblem, toProblem } from '../http/error-handlers.ts'
import { type Problem, ProblemBody, sendProblem } from '../http/problem-details.ts'
import { quoteLinkDelayFactor } from '../overload/rejection-order.ts'
import type { FailedAttemptLimit } from '../rate-limits/failed-attempt-limit.ts'
import type { RateLimit } from '../rate-limits/request-rate-limits.ts'
import {
  createClosedLinkProblem,
  createNotAcceptableProblem,
  createPdfUnavailableProblem,
  createQuoteUnavailableProblem,
  createUnknownLinkProblem,
} from './links/link-problems.ts'
import { linkResponseHeaders } from './links/link-response-headers.ts'
import { hasErrorPage, renderErrorPage } from './page/error-page.ts'
import { PageAndJsonCache, type PageOrJson } from './page-and-json-cache.ts'
import { chooseRepresentation, mediaTypes, prefersErrorPage } from './page-json-or-pdf.ts'
import { buildContentDisposition } from './pdf/pdf-content-disposition.ts'
import type { Pdf } from './pdf/pdf-messages.ts'
import { PdfUnavailableError } from './pdf/pdf-process.ts'
import { PdfRenderer } from './pdf/pdf-renderer.ts'
import {
  AlteredDocumentError,
  type OpenLink,
  type OpenQuote,
  readDocument,
  readLink,
} from './read-shared-quote.ts'
import { chooseErrorPageLanguage, getRequestedLanguage } from './requested-language.ts'
import { SharedQuote } from './schema.ts'
import { createViewCounter, isHumanView } from './view-counter.ts'

export type QuoteOptions = {
  db: Kysely<Tables>
  company: Company
  rateLimit: RateLimit
  /** The limit on requests for unknown links. */
  failedAttempts: FailedAttemptLimit
  countViews: boolean
  observer: { countAlteredDocument(): void }
  clock: () => Date
}

type LinkRequest = FastifyRequest<{ Params: { token: string } }>

const parameters = {
  params: Type.Object({ token: Type.String({ description: 'The 43 characters of the link' }) }),
  // Unknown parameters are ignored, because mail tools append their own.
  querystring: Type.Object({
    format: Type.Optional(Type.Unknown()),
    lang: Type.Optional(Type.Unknown()),
  }),
}

export const quoteRoutes: FastifyPluginAsyncTypebox<QuoteOptions> = async (app, options) => {
  const { company, failedAttempts, rateLimit } = options
  const handler = new QuoteLinkHandler(options)
  app.addHook('onClose', async () => handler.close())

  // The hook uses a callback because a promise would cost measurable time on each request.
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(linkResponseHeaders)
    try {
      failedAttempts.rejectIfExceeded(request)
    } catch (problem) {
      return done(problem as Problem)
    }
    done()
  })

  app.setErrorHandler((error: FastifyError | Problem, request, reply) => {
    const problem = toProblem(error)
    logProblem(request, problem, error)
    return sendErrorPageOrProblem(request, reply, problem, company.seller)
  })

  app.get(
    '/quote/share/:token',
    {
      schema: {
        ...parameters,
        response: { 200: SharedQuote, '4xx': ProblemBody, '5xx': ProblemBody },
      },
      preParsing: rateLimit,
      config: { maxDelayFactor: quoteLinkDelayFactor },
    },
    async (request, reply) => {
      await handler.handle(request, reply)
      return reply
    },
  )
}

/** Checks that a link is open and sends its quote in the requested representation. */
class QuoteLinkHandler {
  readonly #options: QuoteOptions
  readonly #pageAndJsonCache = new PageAndJsonCache()
  readonly #pdfRenderer = new PdfRenderer()
  readonly #countView: ((shareId: string) => void) | null

  constructor(options: QuoteOptions) {
    this.#options = options
    this.#countView = options.countViews ? createViewCounter(options.db) : null
  }

  async handle(request: LinkRequest, reply: FastifyReply): Promise<void> {
    const link = await this.#requireOpenLink(request)
    await this.#sendQuote(request, reply, link)
    if (isHumanView(request)) this.#countView?.(link.shareId)
  }

  close(): void {
    this.#pdfRenderer.close()
  }

  /**
   * Returns the link, or throws a problem if it is not open. Cached content is checked in the same
   * way.
   */
  async #requireOpenLink(request: LinkRequest): Promise<OpenLink> {
    const { db, company, failedAttempts, clock } = this.#options
    const link = await readLink(db, request.params.token, {
      timeZone: company.timeZone,
      now: clock(),
    }).catch((cause: unknown) => {
      throw createQuoteUnavailableProblem(cause)
    })
    if (link.state === 'open') return link
    if (link.state !== 'unknown') throw createClosedLinkProblem(link.state, company.seller)
    await failedAttempts.recordFailure(request)
    throw createUnknownLinkProblem()
  }

  /** Returns an open link with its document, which matches its hash. */
  async #requireQuote(request: LinkRequest, link: OpenLink): Promise<OpenQuote> {
    const { db, clock, observer } = this.#options
    const document = await readDocument(db, request.params.token, link, clock()).catch(
      (cause: unknown) => {
        if (cause instanceof AlteredDocumentError) observer.countAlteredDocument()
        throw createQuoteUnavailableProblem(cause)
      },
    )
    if (document !== null) return { ...link, document }
    // The link was closed after it was read. Reading it again throws the problem that says so.
    await this.#requireOpenLink(request)
    throw createQuoteUnavailableProblem(new Error(`Link ${link.shareId} has no document.`))
  }

  // Does not return the reply: it is thenable, so the caller would wait until it has been sent.
  async #sendQuote(request: LinkRequest, reply: FastifyReply, link: OpenLink): Promise<void> {
    const representation = chooseRepresentation(request)
    if (representation === null) throw createNotAcceptableProblem()
    if (representation === 'pdf') return void sendPdf(reply, await this.#getPdf(request, link))
    const wanted: PageOrJson =
      representation === 'json'
        ? { kind: 'json' }
        : { kind: 'html', language: getRequestedLanguage(request.query) }
    const content =
      this.#pageAndJsonCache.getCached(link, wanted) ??
      this.#pageAndJsonCache.render(await this.#requireQuote(request, link), wanted)
    if (wanted.kind === 'html') sendHtml(reply, content)
    else sendJson(reply, content)
  }

  async #getPdf(request: LinkRequest, link: OpenLink): Promise<Pdf> {
    const { contentHash, status } = link
    const language = getRequestedLanguage(request.query) ?? null
    const cached = this.#pdfRenderer.getCached({ contentHash, status, language })
    if (cached) return cached
    const { document } = await this.#requireQuote(request, link)
    const pdf = await this.#pdfRenderer
      .render({ document, contentHash, status, language })
      .catch((cause: unknown) => {
        throw cause instanceof PdfUnavailableError ? createPdfUnavailableProblem(cause) : cause
      })
    // The link may have been revoked while the PDF was rendered.
    await this.#requireOpenLink(request)
    return pdf
  }
}

/** Sends an error as a page to a browser, and as a problem document to a program. */
function sendErrorPageOrProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
  seller: Company['seller'],
): FastifyReply {
  reply.headers(linkResponseHeaders)
  if (!prefersErrorPage(request) || !hasErrorPage(problem.code))
    return sendProblem(request, reply, problem)
  const language = chooseErrorPageLanguage(request, seller.language)
  const isLinkClosed = problem.status === 410
  reply.code(problem.status).headers(problem.headers)
  return sendHtml(reply, renderErrorPage(problem.code, language, isLinkClosed ? seller : null))
}

function sendHtml(reply: FastifyReply, page: string | Buffer): FastifyReply {
  return sendContent(reply, `${mediaTypes.html}; charset=utf-8`, page)
}

function sendJson(reply: FastifyReply, json: Buffer): FastifyReply {
  return sendContent(reply, `${mediaTypes.json}; charset=utf-8`, json)
}

function sendPdf(reply: FastifyReply, { pdf, fileName }: Pdf): FastifyReply {
  reply.header('content-disposition', buildContentDisposition(fileName))
  return sendContent(reply, mediaTypes.pdf, pdf)
}

/** Sends text or bytes unchanged, without the serializer of the route's schema. */
function sendContent(reply: FastifyReply, type: string, content: string | Buffer): FastifyReply {
  return reply
    .type(type)
    .serializer(String)
    .send(content as never)
}
