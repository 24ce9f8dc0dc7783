// The headers of every response: security headers, the request id, and `connection: close` while
// the process stops. Also the header that forbids storing a response.
import type { FastifyInstance } from 'fastify'

/** The Cache-Control header of responses that nobody may store. */
export const noStore = 'private, no-store'

/**
 * Most responses are data: a browser must not run or frame them, or guess their type. HTML pages
 * replace the content security policy with their own. This is not @fastify/helmet, because that
 * takes 23 µs of processor time per request instead of 3 µs.
 */
const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
}

/**
 * Returns the security headers and the request id. For responses to requests for which Fastify runs
 * no hooks.
 */
export function buildCommonHeaders(requestId: string): Record<string, string> {
  return { ...securityHeaders, 'x-request-id': requestId }
}

export function addCommonHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(securityHeaders).header('x-request-id', request.id)
    done()
  })
}

/**
 * Adds `connection: close` to each response while the app stops. Without this header a client could
 * send its next request on a connection that is about to close. Returns whether the app stops.
 */
export function closeConnectionsOnStop(app: FastifyInstance): () => boolean {
  let isStopping = false
  app.addHook('preClose', (done) => {
    isStopping = true
    done()
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isStopping) reply.header('connection', 'close')
    done()
  })
  return () => isStopping
}
