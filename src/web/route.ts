// Serves what browsers load: the files below /web/, and the pages / and /dashboard.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import type { Company } from '../company/company-file.ts'
import { CompressedContent } from '../http/compressed-content.ts'
import { isLanguage, type Language, languages } from '../texts/languages.ts'
import { type HomeOptions, renderDashboard, renderHome } from './page-rendering.ts'
import { filesOfPart, loadStaticFile, type StaticPath, type WebPart } from './static-files.ts'

/**
 * Allows scripts, styles, images and requests of this service only. Forbids inline code, frames
 * and forms. No text can become markup or code (trusted types), not even by mistake.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** Pages forbid frames, search engines, and the Referer header of outgoing links. */
const pageHeaders = {
  'cache-control': 'private, no-cache',
  'content-security-policy': contentSecurityPolicy,
  'referrer-policy': 'no-referrer',
  vary: 'accept-encoding, accept-language',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
}

export type WebOptions = {
  /** The parts to serve. The URLs of other parts return 404. */
  parts: readonly (WebPart | 'none')[]
  company: Company
  home: HomeOptions
  /** Whether the dashboard offers the report on searches. */
  hasSearchReport: boolean
}

export const webRoutes: FastifyPluginAsyncTypebox<WebOptions> = async (
  app,
  { parts, company, home, hasSearchReport },
) => {
  const paths = parts.flatMap((part): readonly StaticPath[] =>
    part === 'none' ? [] : filesOfPart[part],
  )
  for (const path of new Set(paths)) serveFile(path)
  const hasDashboard = parts.includes('dashboard')
  if (hasDashboard)
    servePage('/dashboard', (language) => renderDashboard(company, { hasSearchReport }, language))
  if (parts.includes('home'))
    servePage('/', (language) => renderHome(company, { ...home, hasDashboard }, language))

  /**
   * Browsers revalidate /web/NAME at each page load and cache /web/NAME?v=VERSION for a year. A URL
   * with an outdated version returns the current file, so pages that use it work after an update.
   */
  function serveFile(path: StaticPath): void {
    const file = loadStaticFile(path)
    app.get(`/web/${path}`, { config: { requiredScope: null } }, (request, reply) => {
      const { v: version } = request.query as { v?: unknown }
      reply
        .header(
          'cache-control',
          version === file.version ? 'public, max-age=31536000, immutable' : 'public, no-cache',
        )
        .header('vary', 'accept-encoding')
        .header('x-content-type-options', 'nosniff')
        // A module script from another origin is a CORS request. The files contain no secret.
        .header('access-control-allow-origin', '*')
        .header('cross-origin-resource-policy', 'cross-origin')
      return file.send(request, reply)
    })
  }

  /** Renders a page once in each language. Pages contain no data that needs a key. */
  function servePage(path: string, render: (language: Language) => string): void {
    const pages = new Map<Language, CompressedContent>(
      languages.map((language) => [
        language,
        new CompressedContent(Buffer.from(render(language)), 'text/html; charset=utf-8'),
      ]),
    )
    app.get(path, { config: { requiredScope: null } }, (request, reply) => {
      const page = pages.get(chooseLanguage(request) ?? company.seller.language)
      reply.headers(pageHeaders)
      return page?.send(request, reply)
    })
  }
}

/**
 * Returns the language of `?lang`, such as pt, EN or pt-BR, else of Accept-Language. Returns
 * undefined if neither names a language that has texts.
 */
function chooseLanguage({ query, headers }: FastifyRequest): Language | undefined {
  const { lang } = query as { lang?: unknown }
  const [name = ''] = String(lang ?? '')
    .toLowerCase()
    .split('-')
  if (isLanguage(name)) return name
  return new Negotiator({ headers }).language([...languages]) as Language | undefined
}
