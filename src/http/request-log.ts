// Logs and counts every request after its response was sent, or after its client disconnected.
import type { FastifyInstance } from 'fastify'

type RequestCounter = {
  countRequest(route: string | undefined, status: number, durationMs: number): void
}

/** Counted for a client that disconnected before it got a response. The number is that of nginx. */
const clientClosedRequest = 499

/** Logs the pattern of the route and never the URL, which may contain the token of a quote link. */
export function logRequests(app: FastifyInstance, metrics: RequestCounter): void {
  app.addHook('onResponse', ({ method, routeOptions, log }, { statusCode, elapsedTime }, done) => {
    metrics.countRequest(routeOptions.url, statusCode, elapsedTime)
    log.info(
      { method, route: routeOptions.url ?? null, status: statusCode, ms: Math.round(elapsedTime) },
      'request',
    )
    done()
  })
  app.addHook('onRequestAbort', ({ method, routeOptions, log }, done) => {
    metrics.countRequest(routeOptions.url, clientClosedRequest, 0)
    log.info(
      { method, route: routeOptions.url ?? null, status: clientClosedRequest },
      'request cancelled by the client',
    )
    done()
  })
}
