// Cross-origin requests, for pages with a publishable key: preflights and the headers that let a page read its answer. No cookies, no wildcard.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem, sendProblem } from '../http/problem-details.ts'

const exposedHeaders =
  'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id'
/** How long a browser may remember a preflight. The request itself is checked each time. */
const rememberedSeconds = 600

/** What lets the page of this origin read an answer. */
export function readableBy(origin: string): Record<string, string> {
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': exposedHeaders }
}

/** Lets the page of this origin read the answer. */
export function allowOrigin(reply: FastifyReply, origin: string): void {
  reply.headers(readableBy(origin))
}

/** The Origin of a request; browsers leave it out of a GET to the page's own site, and say so in a header that scripts cannot set. */
export function originOf(request: FastifyRequest, ownOrigin: string): string | null {
  const { origin, 'sec-fetch-site': site } = request.headers
  if (origin !== undefined) return origin
  return site === 'same-origin' ? ownOrigin : null
}

/**
 * Answers preflights to the paths for which `opensTo` is true, for every origin that `isRegistered`: a preflight names no key, so that it cannot be
 * checked against one. `Access-Control-Request-Private-Network` is not granted.
 */
export function answerPreflights(
  app: FastifyInstance,
  {
    opensTo,
    isRegistered,
  }: {
    opensTo: (path: string | undefined) => boolean
    isRegistered: (origin: string) => Promise<boolean>
  },
): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { origin, 'access-control-request-method': method } = request.headers
    if (
      request.method !== 'OPTIONS' ||
      origin === undefined ||
      method === undefined ||
      !opensTo(request.routeOptions.url)
    )
      return done()
    reply.header('vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers')
    isRegistered(origin).then(
      (registered) => {
        if (!registered) {
          const detail =
            'No publishable key is bound to this origin. The operator makes one with scripts/api-key.ts create --kind publishable.'
          return void sendProblem(request, reply, new Problem('insufficient_scope', detail))
        }
        reply
          .code(204)
          .header('access-control-allow-origin', origin)
          .header('access-control-allow-methods', 'GET, HEAD')
          .header('access-control-allow-headers', 'Authorization')
          .header('access-control-max-age', rememberedSeconds)
          .header('cache-control', 'private, no-store')
          .send()
      },
      (cause: unknown) =>
        done(
          new Problem('unavailable', 'Origins cannot be checked at the moment. Try again.', {
            headers: { 'retry-after': '2' },
            cause,
          }),
        ),
    )
  })
}
