// Logs and counts each request when it ends, and tells other modules when a request ends.
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

type RequestCounters = {
  requests: {
    countRequest(route: string | undefined, status: number, durationMs: number): void
  }
  callers: { countCaller(keyId: string | null, network: string, status: number): void }
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
export function logRequests(app: FastifyInstance, { requests, callers }: RequestCounters): void {
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
    const network = getLoggedNetwork(request.ip)
    requests.countRequest(routeOptions.url, status, durationMs)
    callers.countCaller(authenticKeyId, network, status)
    request.log.info(
      {
        method,
        route: routeOptions.url ?? null,
        status,
        key: authenticKeyId,
        network,
        ...logFields,
        ms: Math.round(durationMs),
      },
      status === clientClosedRequest ? 'request cancelled by the client' : 'request',
    )
  })
}
