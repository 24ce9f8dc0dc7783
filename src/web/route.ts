// What browsers load from the service: /web/*, scripts and styles, for pages of any origin, and the pages / and /dashboard.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import type { Company } from '../company/company.ts'
import { matchesEtag } from '../http/etag.ts'
import { type Language, languages } from './dashboard/dashboard-texts.ts'
import {
  dashboardFiles,
  type Home,
  homeFiles,
  renderDashboard,
  renderHome,
  webContentSecurityPolicy,
} from './page-rendering.ts'
import { type Asset, asset, readAsset } from './static-files.ts'

export type WebPart = 'palette' | 'dashboard' | 'home'
export type WebOptions = {
  /** Which parts are served; of the others there is no trace. */
  parts: readonly (WebPart | 'none')[]
  company: Company
  home: Omit<Home, 'hasDashboard'>
}

/** The files of each part. */
const filesOf: Record<WebPart, string[]> = {
  palette: ['palette.js', 'palette.d.ts'],
  dashboard: [...dashboardFiles.styles, ...dashboardFiles.scripts, 'icon.svg'],
  home: [...homeFiles.styles, ...homeFiles.scripts, 'palette.d.ts', 'icon.svg'],
}

const aYear = 'public, max-age=31536000, immutable'
const keepButAsk = 'public, no-cache'

export const webRoutes: FastifyPluginAsyncTypebox<WebOptions> = async (
  app,
  { parts, company, home },
) => {
  const names = new Set(parts.flatMap((part) => (part === 'none' ? [] : filesOf[part])))
  const assets = new Map([...names].map((name) => [name, readAsset(name)]))
  for (const [name, asset] of assets) serve(name, asset)
  if (parts.includes('dashboard'))
    servePage('/dashboard', (language) => renderDashboard(company, language))

  if (parts.includes('home')) {
    const hasDashboard = parts.includes('dashboard')
    servePage('/', (language) => renderHome(company, { ...home, hasDashboard }, language))
  }

  /** A page in each language: made once, and no secret is in it. */
  function servePage(path: string, render: (language: Language) => string): void {
    const pages = new Map(
      languages.map((language) => [
        language,
        asset(Buffer.from(render(language)), 'text/html; charset=utf-8'),
      ]),
    )
    app.get(path, (request, reply) => {
      const page = pages.get(languageOf(request) ?? company.seller.language)
      reply.headers(pageHeaders)
      if (page) send(request, reply, page)
    })
  }

  /**
   * /web/NAME is asked about anew at every page; /web/NAME?v=VERSION, with the version it has now, is kept for good. With another version it is
   * the file as it is now all the same: a page that names an old one goes on working after an update.
   */
  function serve(name: string, asset: Asset): void {
    app.get(`/web/${name}`, (request, reply) => {
      const { v } = request.query as { v?: unknown }
      reply
        .header('cache-control', v === asset.version ? aYear : keepButAsk)
        .header('vary', 'accept-encoding')
        .header('x-content-type-options', 'nosniff')
        // A module script from another origin is a CORS request. There is nothing secret in these files.
        .header('access-control-allow-origin', '*')
        .header('cross-origin-resource-policy', 'cross-origin')
      send(request, reply, asset)
    })
  }
}

/** Unlike the files, pages are for whoever opens them here: nobody frames them, lists them or hears where they lead. */
const pageHeaders = {
  'cache-control': 'private, no-cache',
  'content-security-policy': webContentSecurityPolicy,
  'referrer-policy': 'no-referrer',
  vary: 'accept-encoding, accept-language',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
}

function send({ headers }: FastifyRequest, reply: FastifyReply, asset: Asset): void {
  const { bytes, etag, type, encoding } = asset.as(headers)
  reply.header('etag', etag)
  if (matchesEtag(headers['if-none-match'], etag)) return void reply.code(304).send()
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  reply.type(type).send(bytes)
}

/** ?lang= before Accept-Language; undefined where neither names one of ours. */
function languageOf({ query, raw }: FastifyRequest): Language | undefined {
  const { lang } = query as { lang?: unknown }
  return (
    languages.find((language) => language === lang) ??
    (new Negotiator(raw).language([...languages]) as Language | undefined)
  )
}
