// Logs and counts each request after its response was sent or its client disconnected.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { shortenAddress } from '../rate-limits/client-address.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What the log says about the response in addition to its status. */
    logged: LoggedAnswer | null
  }
}

/**
 * `source`: the component that answered. `degraded`: the answer is older or less complete than it
 * should be. `reason`: why it is degraded, or why the request was rejected. `code`: the code of the
 * problem.
 */
export type LoggedAnswer = { source?: string; degraded?: true; reason?: string; code?: string }

type RequestCounters = {
  requests: {
    countRequest(route: string | undefined, status: number, durationMs: number): void
  }
  callers: { countCaller(keyId: string | null, network: string, status: number): void }
}

/** The status for a client that disconnected before the response, as nginx counts it. */
const clientClosedRequest = 499

/**
 * Logs the pattern of the route and never the URL, which may contain the token of a quote link.
 * Logs the id of the caller's key, and the network of the caller's address instead of the address.
 */
export function logRequests(app: FastifyInstance, { requests, callers }: RequestCounters): void {
  app.decorateRequest('logged', null)
  /** Counts a request and returns what its log line says. */
  const count = (request: FastifyRequest, status: number, durationMs: number) => {
    const { method, routeOptions, keyId, logged } = request
    // The address is undefined if the client has disconnected.
    const network = shortenAddress(request.ip)
    requests.countRequest(routeOptions.url, status, durationMs)
    callers.countCaller(keyId, network, status)
    const ms = Math.round(durationMs)
    return { method, route: routeOptions.url ?? null, status, ms, key: keyId, network, ...logged }
  }
  app.addHook('onResponse', (request, { statusCode, elapsedTime }, done) => {
    request.log.info(count(request, statusCode, elapsedTime), 'request')
    done()
  })
  app.addHook('onRequestAbort', (request, done) => {
    const { ms: _, ...line } = count(request, clientClosedRequest, 0)
    request.log.info(line, 'request cancelled by the client')
    done()
  })
}
