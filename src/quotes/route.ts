// GET /quote/share/{token}: the quote that a customer opens from a link, as a page or as JSON.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import Negotiator from 'negotiator'
import type { RateLimit } from '../access/rate-limits.ts'
import type { Company } from '../company.ts'
import type { Tables } from '../database/tables.ts'
import { logProblem, Problem, ProblemBody, problemOf, sendProblem } from '../problem.ts'
import { pageContentSecurityPolicy, renderNoticePage, renderQuotePage } from './page.ts'
import { SharedQuote } from './schema.ts'
import { findSharedQuote } from './shared-quote.ts'

export type QuoteOptions = { db: Kysely<Tables>; company: Company; publicBaseUrl: string; rateLimit: RateLimit; clock: () => Date }

type Language = 'es' | 'en'
type Format = 'html' | 'json'

const mediaTypes = { html: 'text/html', json: 'application/json' } as const

/** Sent with every reply of a link, errors included: nothing is kept, indexed, framed, scripted or told to another site. */
const headers = {
  'cache-control': 'private, no-store',
  'x-robots-tag': 'noindex, nofollow',
  'referrer-policy': 'no-referrer',
  'content-security-policy': pageContentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  vary: 'Accept, Accept-Language',
}

export const quoteRoutes: FastifyPluginAsyncTypebox<QuoteOptions> = async (app, { db, company, publicBaseUrl, rateLimit, clock }) => {
  const { seller } = company

  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(headers)
  })

  /** Errors as a page for somebody who opened the link, as a problem for a program. */
  app.setErrorHandler((error: FastifyError | Problem, request, reply) => {
    const problem = problemOf(error)
    logProblem(request, problem, error)
    if (formatOf(request) !== 'html' || !isNotice(problem.code)) return sendProblem(request, reply, problem).headers(headers)
    const contact = problem.status === 410 ? seller : null
    return reply
      .code(problem.status)
      .headers(problem.headers)
      .type('text/html; charset=utf-8')
      .serializer(String)
      .send(renderNoticePage(problem.code, languageOf(request) ?? seller.language, contact))
  })

  app.get(
    '/quote/share/:token',
    {
      schema: {
        params: Type.Object({ token: Type.String({ description: 'The 43 characters of the link' }) }),
        // Mail tools append parameters of their own: whatever else comes is ignored.
        querystring: Type.Object({ format: Type.Optional(Type.Unknown()), lang: Type.Optional(Type.Unknown()) }),
        response: { 200: SharedQuote, '4xx': ProblemBody, '5xx': ProblemBody },
      },
      config: { rateLimit },
    },
    async (request, reply) => {
      const format = formatOf(request)
      const link = await findSharedQuote(db, request.params.token, { timeZone: company.timeZone, now: clock() }).catch((cause: unknown) => {
        throw new Problem('unavailable', 'The quote cannot be read at the moment. Try again in a moment.', {
          headers: { 'retry-after': '5' },
          cause,
        })
      })
      if (link.state === 'unknown') throw new Problem('not_found', 'There is no quote behind this link.')
      if (link.state !== 'open') throw gone(link.state, seller)
      if (format === null)
        throw new Problem('not_acceptable', 'A quote is sent as text/html or application/json: ask for one of them in Accept or ?format=.')
      if (format === 'json') return link.shared
      const url = `${publicBaseUrl}/quote/share/${request.params.token}`
      const language = languageOf(request, link.shared.document.language)
      return sendPage(reply, renderQuotePage(link.shared, language, { pdf: null, json: `${url}?format=json` }))
    },
  )
}

function sendPage(reply: FastifyReply, page: string) {
  return reply
    .type('text/html; charset=utf-8')
    .serializer(String)
    .send(page as never)
}

function gone(state: 'expired' | 'revoked', { legalName, email, phone }: Company['seller']): Problem {
  const what = state === 'expired' ? 'has expired' : 'was withdrawn'
  return new Problem(`link_${state}`, `This link ${what}. Ask ${legalName} for a new one: ${email}, ${phone}.`)
}

const notices = ['not_found', 'link_expired', 'link_revoked', 'rate_limited', 'unavailable', 'not_acceptable', 'internal_error'] as const
type Notice = (typeof notices)[number]

function isNotice(code: string): code is Notice {
  return (notices as readonly string[]).includes(code)
}

/** ?format= before Accept; a page where neither says. Null when nothing that is asked for can be sent. */
function formatOf(request: FastifyRequest): Format | null {
  const { format } = request.query as { format?: unknown }
  if (format === 'html' || format === 'json') return format
  if (format !== undefined) return null
  const best = new Negotiator(request.raw).mediaType([mediaTypes.html, mediaTypes.json])
  return best === mediaTypes.html ? 'html' : best === mediaTypes.json ? 'json' : null
}

/** ?lang= before the quote's own language before Accept-Language. */
function languageOf(request: FastifyRequest): Language | undefined
function languageOf(request: FastifyRequest, own: Language): Language
function languageOf(request: FastifyRequest, own?: Language): Language | undefined {
  const { lang } = request.query as { lang?: unknown }
  if (lang === 'es' || lang === 'en') return lang
  return own ?? (new Negotiator(request.raw).language(['es', 'en']) as Language | undefined)
}
