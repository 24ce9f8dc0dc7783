// GET /quote/share/{token}: the quote that a customer opens from a link, as a page, as JSON or as PDF.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import Negotiator from 'negotiator'
import type { Company } from '../company/company.ts'
import type { Tables } from '../database/table-types.ts'
import {
  logProblem,
  Problem,
  ProblemBody,
  problemOf,
  sendProblem,
} from '../http/problem-details.ts'
import type { GuessLimit } from '../rate-limits/failed-attempt-limit.ts'
import type { RateLimit } from '../rate-limits/request-rate-limits.ts'
import { pageContentSecurityPolicy, renderNoticePage, renderQuotePage } from './page/quote-page.ts'
import { type Pdf, PdfUnavailable, pdfPress } from './pdf/pdf-renderer.ts'
import type { Language, Notice } from './quote-texts.ts'
import {
  findSharedQuote,
  type OpenLink,
  sharedQuote,
  sharedQuoteJson,
} from './read-shared-quote.ts'
import { BoundedCache } from './rendering-cache.ts'
import { SharedQuote } from './schema.ts'
import { isView, viewCounter } from './view-counter.ts'

export type QuoteOptions = {
  db: Kysely<Tables>
  company: Company
  rateLimit: RateLimit
  guesses: GuessLimit
  countViews: boolean
  clock: () => Date
}

const mediaTypes = { html: 'text/html', json: 'application/json', pdf: 'application/pdf' } as const
type Format = keyof typeof mediaTypes
const formats = Object.keys(mediaTypes) as Format[]

/** Sent with every reply of a link, errors included: nothing is kept, indexed, framed, scripted or told to another site. */
const headers = {
  'cache-control': 'private, no-store',
  'x-robots-tag': 'noindex, nofollow',
  'referrer-policy': 'no-referrer',
  'content-security-policy': pageContentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  vary: 'Accept, Accept-Language',
}

const cacheBytes = 16e6

export const quoteRoutes: FastifyPluginAsyncTypebox<QuoteOptions> = async (
  app,
  { db, company, rateLimit, guesses, countViews, clock },
) => {
  const { seller } = company
  const press = pdfPress()
  const representations = new BoundedCache<Buffer>(cacheBytes)
  const countView = countViews ? viewCounter(db) : null
  app.addHook('onClose', async () => press.close())

  // With a callback: a promise for each request would be felt.
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers)
    try {
      guesses.check(request)
    } catch (problem) {
      return done(problem as Problem)
    }
    done()
  })

  /** Errors as a page for somebody who opened the link, as a problem for a program. */
  app.setErrorHandler((error: FastifyError | Problem, request, reply) => {
    const problem = problemOf(error)
    logProblem(request, problem, error)
    if (!wantsPage(request) || !isNotice(problem.code))
      return sendProblem(request, reply, problem).headers(headers)
    const contact = problem.status === 410 ? seller : null
    reply.code(problem.status).headers(problem.headers)
    return send(
      reply,
      'text/html; charset=utf-8',
      renderNoticePage(problem.code, noticeLanguage(request) ?? seller.language, contact),
    )
  })

  app.get(
    '/quote/share/:token',
    {
      schema: {
        params: Type.Object({
          token: Type.String({ description: 'The 43 characters of the link' }),
        }),
        // Mail tools append parameters of their own: whatever else comes is ignored.
        querystring: Type.Object({
          format: Type.Optional(Type.Unknown()),
          lang: Type.Optional(Type.Unknown()),
        }),
        response: { 200: SharedQuote, '4xx': ProblemBody, '5xx': ProblemBody },
      },
      // A customer who opens a quote is worth more than a keystroke.
      preParsing: rateLimit,
      config: { patience: 4 },
    },
    async (request, reply) => {
      const link = await openLink(request, request.params.token)
      const format = formatOf(request)
      if (format === null) {
        const choices = Object.values(mediaTypes).join(', ')
        throw new Problem(
          'not_acceptable',
          `A quote is sent as one of ${choices}: ask for one of them in Accept or ?format=.`,
        )
      }
      if (format === 'html')
        send(reply, 'text/html; charset=utf-8', pageOf(link, languageOf(request)))
      else if (format === 'json') send(reply, 'application/json; charset=utf-8', jsonOf(link))
      else sendPdf(reply, await pdfOf(request, link))
      if (countView && isView(request)) countView(link.shareId)
      return reply
    },
  )

  /** The gate: whatever is shown has passed it at this moment, also what is kept in memory. */
  async function openLink(request: FastifyRequest, token: string): Promise<OpenLink> {
    const link = await findSharedQuote(db, token, {
      timeZone: company.timeZone,
      now: clock(),
    }).catch((cause: unknown) => {
      throw unavailable('The quote cannot be read at the moment. Try again in a moment.', cause)
    })
    if (link.state === 'open') return link
    if (link.state !== 'unknown') throw gone(link.state, seller)
    await guesses.count(request)
    throw new Problem('not_found', 'There is no quote behind this link.')
  }

  /** Kept under all that is said of a link: another status or expiry is another representation. */
  function kept(link: OpenLink, kind: string, make: () => string): Buffer {
    const key = `${link.contentHash} ${link.status} ${link.link.expiresAt} ${kind}`
    const known = representations.get(key)
    if (known) return known
    const bytes = Buffer.from(make())
    representations.set(key, bytes, bytes.length)
    return bytes
  }

  const jsonOf = (link: OpenLink) => kept(link, 'json', () => sharedQuoteJson(link))

  const pageOf = (link: OpenLink, wanted: Language | undefined) =>
    kept(link, `page ${wanted}`, () => {
      const quote = sharedQuote(link)
      // Relative to the page, so that they hold whatever name and path it was reached by, and the page is the same for every link.
      const links = { pdf: `?format=pdf${wanted ? `&lang=${wanted}` : ''}`, json: '?format=json' }
      return renderQuotePage(quote, wanted ?? quote.document.language, links)
    })

  async function pdfOf(
    request: FastifyRequest<{ Params: { token: string } }>,
    { document, contentHash, status }: OpenLink,
  ): Promise<Pdf> {
    const order = { document, contentHash, status, language: languageOf(request) ?? null }
    const kept = press.kept(order)
    if (kept) return kept
    const pdf = await press.render(order).catch((cause: unknown) => {
      if (cause instanceof PdfUnavailable)
        throw unavailable('The PDF cannot be made at the moment. Try again in a moment.', cause)
      throw cause
    })
    // It took its time: what was withdrawn meanwhile is not shown.
    await openLink(request, request.params.token)
    return pdf
  }
}

/** Sends text or bytes as they are; the route's schema describes them and has no part in it. */
function send(reply: FastifyReply, type: string, content: string | Buffer): FastifyReply {
  return reply
    .type(type)
    .serializer(String)
    .send(content as never)
}

function sendPdf(reply: FastifyReply, { pdf, fileName }: Pdf): void {
  // Names beyond ASCII by RFC 8187, and a plain one for programs that do not know it.
  const plain = fileName
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
  const full = encodeURIComponent(fileName.replace(/[\\/:*?"<>|\s]+/g, '-')).replace(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16)}`,
  )
  reply.header('content-disposition', `inline; filename="${plain}"; filename*=UTF-8''${full}`)
  send(reply, mediaTypes.pdf, pdf)
}

function unavailable(detail: string, cause: unknown): Problem {
  return new Problem('unavailable', detail, { headers: { 'retry-after': '5' }, cause })
}

function gone(
  state: 'expired' | 'revoked',
  { legalName, email, phone }: Company['seller'],
): Problem {
  const what = state === 'expired' ? 'has expired' : 'was withdrawn'
  return new Problem(
    `link_${state}`,
    `This link ${what}. Ask ${legalName} for a new one: ${email}, ${phone}.`,
  )
}

const notices = [
  'not_found',
  'link_expired',
  'link_revoked',
  'rate_limited',
  'unavailable',
  'not_acceptable',
  'internal_error',
] as const

function isNotice(code: string): code is Notice {
  return (notices as readonly string[]).includes(code)
}

/** ?format= before Accept; a page where neither says. Null when nothing that is asked for can be sent. */
function formatOf(request: FastifyRequest): Format | null {
  const { format } = request.query as { format?: unknown }
  if (format !== undefined) return formats.find((known) => known === format) ?? null
  const best = new Negotiator(request.raw).mediaType(Object.values(mediaTypes))
  return formats.find((known) => mediaTypes[known] === best) ?? null
}

/** Whether an error should be a page: for whoever asked for one, and for a browser that asked for a PDF. */
function wantsPage(request: FastifyRequest): boolean {
  const format = formatOf(request)
  if (format !== 'pdf') return format === 'html'
  return (
    new Negotiator(request.raw).mediaType(['application/problem+json', mediaTypes.html]) ===
    mediaTypes.html
  )
}

/** What ?lang= asks for. */
function languageOf(request: FastifyRequest): Language | undefined {
  const { lang } = request.query as { lang?: unknown }
  return lang === 'es' || lang === 'en' ? lang : undefined
}

/** ?lang= before Accept-Language, where there is no quote to say its language. */
function noticeLanguage(request: FastifyRequest): Language | undefined {
  return (
    languageOf(request) ??
    (new Negotiator(request.raw).language(['es', 'en']) as Language | undefined)
  )
}
