// Finds the route of a URL before Fastify handles the request.
import type { FastifyContextConfig, FastifyInstance } from 'fastify'

export type RouteInfo = { pattern: string; config: FastifyContextConfig }

/**
 * Returns a function that finds the GET route of a URL. It knows the routes that are registered
 * after this call. A route with parameters matches every URL that begins like its fixed part.
 */
export function createRouteLookup(app: FastifyInstance): (url: string) => RouteInfo | undefined {
  const fixedRoutes = new Map<string, RouteInfo>()
  const parameterRoutes: (RouteInfo & { prefix: string })[] = []
  app.addHook('onRoute', ({ method, url, config = {} }) => {
    if (method !== 'GET') return
    const [prefix = '', parameters] = url.split(/[:*]/)
    if (parameters === undefined) fixedRoutes.set(url, { pattern: url, config })
    else parameterRoutes.push({ pattern: url, config, prefix })
  })
  return (url) => {
    const queryStart = url.indexOf('?')
    const path = queryStart === -1 ? url : url.slice(0, queryStart)
    return fixedRoutes.get(path) ?? parameterRoutes.find(({ prefix }) => url.startsWith(prefix))
  }
}
