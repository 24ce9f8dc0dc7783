// Cross-origin requests (CORS) of pages with a publishable key: the origins to which valid keys are
// bound, preflights and response headers.
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { noStore } from '../http/common-headers.ts'
import { allowedMethods } from '../http/error-handlers.ts'
import { Problem } from '../http/problem-details.ts'
import { FailureLog, type TaskLog } from '../monitoring/log/failure-log.ts'
import { publishableScope } from './api-keys.ts'
import { replaceIfUnavailable, wrongOrigin } from './auth-problems.ts'
import { createRefreshedCache, discardAfter } from './refreshed-cache.ts'

// Ten minutes save most preflights. Each request itself is still checked.
const preflightCacheMs = 600_000

const exposedHeaders =
  'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id'

/**
 * Resolves to whether a valid publishable key is bound to the origin. Rejects if the list of
 * origins cannot be read and the last one is discarded.
 */
export type OriginCheck = (origin: string) => Promise<boolean>

/**
 * Returns an origin as browsers write it: scheme, host in lower case, and the port unless it is the
 * default. Returns null for anything else, such as a path, a wildcard, a password or `null`.
 */
export function parseWebOrigin(text: string): string | null {
  // Operators often copy the address of a site with its final slash.
  const address = text.trim().replace(/\/$/, '')
  if (!/^https?:\/\/[^/?#@\\*\s]+$/i.test(address) || !URL.canParse(address)) return null
  return new URL(address).origin
}

export function createOriginCheck(db: Kysely<Tables>, log: TaskLog): OriginCheck {
  const failures = new FailureLog(log, {
    failure: (cause) =>
      `The origins of publishable keys cannot be read (${cause}). The last list stays in use for ` +
      `up to ${discardAfter.ms / 60_000} minutes`,
    recovery: 'The origins of publishable keys can be read again',
  })
  const origins = createRefreshedCache(1, failures, () => readOrigins(db))
  return async (origin) => (await origins.get('all')).has(origin)
}

async function readOrigins(db: Kysely<Tables>): Promise<Set<string>> {
  const { rows } = await sql<{ origin: string }>`
    select distinct unnest(origins) as origin from api_keys
    where kind = 'publishable' and revoked_at is null and (expires_at is null or expires_at > now())
  `.execute(db)
  return new Set(rows.map(({ origin }) => origin))
}

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
  const isRegistered = await isRegisteredOrigin(origin).catch((error: unknown) => {
    throw replaceIfUnavailable('Origins', error)
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
