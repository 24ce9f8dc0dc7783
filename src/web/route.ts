// What browsers load from the service: /web/*, scripts and styles, for pages of any origin.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { matchesEtag } from '../etag.ts'
import { type Asset, readAsset } from './assets.ts'

export type WebPart = 'palette' | 'dashboard' | 'home'
export type WebOptions = {
  /** Which parts are served; of the others there is no trace. */
  parts: readonly (WebPart | 'none')[]
}

/** The files of each part. */
const filesOf: Record<WebPart, string[]> = {
  palette: ['palette.js', 'palette.d.ts'],
  dashboard: [],
  home: ['palette.js', 'palette.d.ts'],
}

const aYear = 'public, max-age=31536000, immutable'
const keepButAsk = 'public, no-cache'

export const webRoutes: FastifyPluginAsyncTypebox<WebOptions> = async (app, { parts }) => {
  const names = new Set(parts.flatMap((part) => (part === 'none' ? [] : filesOf[part])))
  const assets = new Map([...names].map((name) => [name, readAsset(name)]))
  for (const [name, asset] of assets) serve(name, asset)

  /**
   * /web/NAME is asked about anew at every page; /web/NAME?v=VERSION, with the version it has now, is kept for good. With another version it is
   * the file as it is now all the same: a page that names an old one goes on working after an update.
   */
  function serve(name: string, asset: Asset): void {
    app.get(`/web/${name}`, (request, reply) => {
      const { bytes, etag, type, encoding } = asset.as(request.headers)
      const { v } = request.query as { v?: unknown }
      reply
        .header('cache-control', v === asset.version ? aYear : keepButAsk)
        .header('etag', etag)
        .header('vary', 'accept-encoding')
        .header('x-content-type-options', 'nosniff')
        // A module script from another origin is a CORS request. There is nothing secret in these files.
        .header('access-control-allow-origin', '*')
        .header('cross-origin-resource-policy', 'cross-origin')
      if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send()
      if (encoding !== 'identity') reply.header('content-encoding', encoding)
      return reply.type(type).send(bytes)
    })
  }
}
