// Cross-origin requests (CORS) of pages with a publishable key: preflights and response headers.
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { noStore } from '../http/common-headers.ts'
import { allowedMethods } from '../http/error-handlers.ts'
import { Problem } from '../http/problem-details.ts'
import { publishableScope } from './api-keys.ts'
import { replaceIfPostgresUnavailable, wrongOrigin } from './auth-problems.ts'
import type { OriginCheck } from './registered-origins.ts'

// Ten minutes save most preflights. Each request itself is still checked.
const preflightCacheMs = 600_000

const exposedHeaders =
  'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id'

/** Returns whether pages of other sites may call a route, which they do with a publishable key. */
export function allowsCrossOrigin({ requiredScope }: FastifyContextConfig): boolean {
  return requiredScope === publishableScope
}

export function corsHeaders(origin: string): Record<string, string> {
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposedHeaders }
}

/**
 * Returns the headers with which pages of registered origins can read an error. Empty for another
 * origin, and without one.
 */
export async function corsHeadersOfError(
  origin: string | undefined,
  isRegisteredOrigin: OriginCheck,
): Promise<Record<string, string>> {
  if (origin === undefined) return {}
  // Without these headers the response is still correct, but pages cannot read it.
  const isRegistered = await isRegisteredOrigin(origin).catch(() => false)
  return isRegistered ? corsHeaders(origin) : {}
}

/**
 * Returns the origin of a request, or null if it has none. Browsers send no Origin with a GET to
 * the page's own origin, but they send Sec-Fetch-Site, which scripts of a page cannot set. Programs
 * can forge both headers, so the origin only restricts pages in browsers.
 */
export function getRequestOrigin(request: FastifyRequest, ownOrigin: string): string | null {
  const { origin, 'sec-fetch-site': fetchSite } = request.headers
  if (origin !== undefined) return origin
  return fetchSite === 'same-origin' ? ownOrigin : null
}

/**
 * Answers preflights for every registered origin, because a preflight does not say which key it is
 * for. Private network access (`Access-Control-Request-Private-Network`) is not granted.
 *
 * `rejectOtherMethods` (src/http/error-handlers.ts) adds an OPTIONS route to each path, with the
 * `config` of the GET route and an `onRequest` that throws 405. The hook of this function answers
 * before that, because hooks of the app run before those of a route. Without the OPTIONS route,
 * `config` would be empty here.
 */
export function registerPreflights(app: FastifyInstance, isRegisteredOrigin: OriginCheck): void {
  // A callback, because a promise for each request would cost more than this check.
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    const { config } = request.routeOptions
    if (origin === undefined || !isPreflight(request) || !allowsCrossOrigin(config)) return done()
    answerPreflight(reply, origin, isRegisteredOrigin).catch(done)
  })
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

async function answerPreflight(
  reply: FastifyReply,
  origin: string,
  isRegisteredOrigin: OriginCheck,
): Promise<void> {
  reply.header('vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers')
  const isRegistered = await isRegisteredOrigin(origin).catch((error: Error) => {
    throw replaceIfPostgresUnavailable('Origins', error)
  })
  if (!isRegistered) throw createUnregisteredOriginProblem()
  void reply
    .code(204)
    .header('access-control-allow-origin', origin)
    .header('access-control-allow-methods', allowedMethods)
    .header('access-control-allow-headers', 'Authorization')
    .header('access-control-max-age', preflightCacheMs / 1_000)
    .header('cache-control', noStore)
    .send()
}

function createUnregisteredOriginProblem(): Problem {
  return new Problem(
    'insufficient_scope',
    'No publishable key is bound to this origin. The operator creates one with ' +
      'scripts/api-key.ts create --kind publishable.',
    { reason: wrongOrigin },
  )
}
