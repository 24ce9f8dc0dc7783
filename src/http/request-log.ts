// Logs and counts every request after its response was sent.
import type { FastifyInstance } from 'fastify'

type RequestCounter = {
  countRequest(route: string | undefined, status: number, durationMs: number): void
}

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
}
