// Logs and counts each request after its response was sent or its client disconnected.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { getLoggedNetwork } from './client-address.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * What the log line says about the response. A route sets it, and a problem changes it
     * (addProblemToRequestLog).
     */
    logFields: LogFields | null
    /**
     * When the request began, by performance.now(). Set for every request. The duration of one that
     * the client cancels needs it, because onRequestAbort has no reply.
     */
    startedAt: number
  }
}

export type LogFields = {
  /** The component that produced the response. */
  source?: string
  /** The name of the search engine that answered a search, now or when the response was cached. */
  engine?: string
  /** How many search engines a search was sent to. */
  attempts?: number
  /** Why the first of two search engines did not answer. Set if the second one was tried. */
  failedAttempt?: string
  /** Set if the response is older or less complete than it should be. */
  degraded?: true
  /** Why the response is degraded, or why the request was rejected. */
  reason?: string
  /** The code of the problem. */
  code?: string
}

type RequestCounters = {
  requests: {
    countRequest(route: string | undefined, status: number, durationMs: number): void
  }
  callers: { countCaller(keyId: string | null, network: string, status: number): void }
}

/** The status for a client that disconnected before the response, as nginx counts it. */
export const clientClosedRequest = 499

/**
 * Logs the pattern of the route and never the URL, which may contain the token of a quote link.
 * Logs the id of the caller's key, which access control sets, and the network of the caller's
 * address instead of the address.
 */
export function logRequests(app: FastifyInstance, { requests, callers }: RequestCounters): void {
  app.decorateRequest('logFields', null)
  app.decorateRequest('startedAt', 0)
  app.addHook('onRequest', (request, _reply, done) => {
    request.startedAt = performance.now()
    done()
  })
  const count = (request: FastifyRequest, status: number, durationMs: number) => {
    requests.countRequest(request.routeOptions.url, status, durationMs)
    callers.countCaller(request.knownKeyId, getNetwork(request), status)
  }
  app.addHook('onResponse', (request, { statusCode, elapsedTime }, done) => {
    count(request, statusCode, elapsedTime)
    const ms = Math.round(elapsedTime)
    request.log.info({ ...describeRequest(request, statusCode), ms }, 'request')
    done()
  })
  app.addHook('onRequestAbort', (request, done) => {
    // This hook has no reply, whose `elapsedTime` has the duration of the other requests.
    const durationMs = performance.now() - request.startedAt
    count(request, clientClosedRequest, durationMs)
    const fields = describeRequest(request, clientClosedRequest)
    request.log.info({ ...fields, ms: Math.round(durationMs) }, 'request cancelled by the client')
    done()
  })
}

function describeRequest(request: FastifyRequest, status: number) {
  const { method, routeOptions, knownKeyId, logFields } = request
  const route = routeOptions.url ?? null
  return { method, route, status, key: knownKeyId, network: getNetwork(request), ...logFields }
}

/** Returns the network of the caller. The address is undefined if the client has disconnected. */
const getNetwork = (request: FastifyRequest): string => getLoggedNetwork(request.ip)
