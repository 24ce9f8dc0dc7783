// Logs and counts every request after its response was sent.
import type { FastifyInstance } from 'fastify'
import { shortenAddress } from '../rate-limits/client-address.ts'

type RequestCounters = {
  requests: {
    countRequest(route: string | undefined, status: number, durationMs: number): void
  }
  callers: { countCaller(keyId: string | null, network: string, status: number): void }
}

/**
 * Logs the pattern of the route and never the URL, which may contain the token of a quote link. Of
 * the caller it logs the id of the key, and the network of the address instead of the address.
 */
export function logRequests(app: FastifyInstance, { requests, callers }: RequestCounters): void {
  app.addHook('onResponse', (request, { statusCode: status, elapsedTime }, done) => {
    const { method, routeOptions, log, keyId } = request
    const network = shortenAddress(request.ip)
    requests.countRequest(routeOptions.url, status, elapsedTime)
    callers.countCaller(keyId, network, status)
    const ms = Math.round(elapsedTime)
    log.info(
      { method, route: routeOptions.url ?? null, status, ms, key: keyId, network },
      'request',
    )
    done()
  })
}
