// Warns if requests come through a proxy that TRUST_PROXY does not name.
import type { FastifyInstance } from 'fastify'

const proxyHeaders = ['x-forwarded-for', 'forwarded', 'x-real-ip'] as const

/**
 * Logs one warning at the first request with the headers of a proxy. The headers themselves are
 * ignored, because any client can send them.
 */
export function warnAboutUntrustedProxies(app: FastifyInstance): void {
  let hasWarned = false
  app.addHook('onRequest', (request, _reply, done) => {
    if (hasWarned || !proxyHeaders.some((name) => request.headers[name] !== undefined))
      return done()
    hasWarned = true
    request.log.warn(
      { remoteAddress: request.ip },
      'a request came through a proxy, but TRUST_PROXY is empty: all its visitors are counted as ' +
        'one address. If the proxy is yours, add it to TRUST_PROXY.',
    )
    done()
  })
}
