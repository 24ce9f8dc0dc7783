// The id of each request, its log line and its count when it ends. Tells others when it ends.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { getLoggedNetwork } from './client-address.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * What the log line says about the response. A route sets it, and a problem changes it
     * (addProblemToRequestLog).
     */
    logFields: LogFields | null
    /** When the request began, by performance.now(). */
    startedAt: number
    /**
     * The id of the key of the request. Access control sets it if the key exists and its secret is
     * right, whether or not the request is then allowed. The id is not secret.
     */
    authenticKeyId: string | null
  }
}

export type LogFields = {
  source?: string
  /** The name of the search engine that answered a search, now or when the response was cached. */
  engine?: string
  attempts?: number
  /** Why the first of two search engines did not answer. Set if the second one was tried. */
  failedAttempt?: string
  /** Set if the response is older or less complete than it should be. */
  degraded?: true
  /** Why the response is degraded, or why the request was rejected. */
  reason?: string
  code?: string
}

export type RequestIdGenerator = (request: Pick<IncomingMessage, 'headers'>) => string

const validId = /^[A-Za-z0-9._-]{1,64}$/

/**
 * Returns a function that chooses the id of a request: the X-Request-Id of the caller if it is
 * valid, and otherwise a random prefix of this process with a counter. An id for which
 * `mayContainKey` returns true is not valid, because the log has it.
 */
export function createRequestIdGenerator(
  mayContainKey: (id: string) => boolean,
): RequestIdGenerator {
  const processPrefix = randomBytes(5).toString('hex')
  let lastNumber = 0
  return ({ headers }) => {
    const callerId = headers['x-request-id']
    if (typeof callerId === 'string' && validId.test(callerId) && !mayContainKey(callerId))
      return callerId
    lastNumber += 1
    return `${processPrefix}-${lastNumber.toString(36)}`
  }
}

export type RequestCounter = {
  /** `route` is undefined if no route matched. */
  countRequest(route: string | undefined, status: number, durationMs: number): void
}

/** The status for a client that disconnected before the response, as nginx counts it. */
const clientClosedRequest = 499

/**
 * Calls `handle` when a request ends: its response was sent, or its client has disconnected. In the
 * latter case `status` is 499.
 */
export function onRequestEnd(
  app: FastifyInstance,
  handle: (request: FastifyRequest, status: number) => void,
): void {
  app.addHook('onResponse', (request, { statusCode }, done) => {
    handle(request, statusCode)
    done()
  })
  app.addHook('onRequestAbort', (request, done) => {
    handle(request, clientClosedRequest)
    done()
  })
}

/**
 * Logs the pattern of the route and never the URL, which may contain the token of a quote link.
 * Logs the id of the caller's key, and the network of the caller's address instead of the address.
 */
export function logRequests(app: FastifyInstance, counter: RequestCounter): void {
  app.decorateRequest('logFields', null)
  app.decorateRequest('startedAt', 0)
  app.decorateRequest('authenticKeyId', null)
  app.addHook('onRequest', (request, _reply, done) => {
    request.startedAt = performance.now()
    done()
  })
  onRequestEnd(app, (request, status) => {
    const { method, routeOptions, authenticKeyId, logFields } = request
    const durationMs = performance.now() - request.startedAt
    counter.countRequest(routeOptions.url, status, durationMs)
    request.log.info(
      {
        method,
        route: routeOptions.url ?? null,
        status,
        key: authenticKeyId,
        network: getLoggedNetwork(request.ip),
        ...logFields,
        ms: Math.round(durationMs),
      },
      status === clientClosedRequest ? 'request cancelled by the client' : 'request',
    )
  })
}
