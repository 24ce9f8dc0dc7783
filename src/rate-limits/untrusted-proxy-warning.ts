// A proxy in front that nobody told the service about: every visitor would then share the limits of one address.
import type { FastifyInstance } from 'fastify'

const proxyHeaders = ['x-forwarded-for', 'forwarded', 'x-real-ip'] as const

/** Warns once, when the first request comes with a proxy's headers. They are not believed: whoever sends them could write anything. */
export function warnOfUntrustedProxies(app: FastifyInstance): void {
  let warned = false
  app.addHook('onRequest', (request, _reply, done) => {
    if (warned || !proxyHeaders.some((name) => request.headers[name] !== undefined)) return done()
    warned = true
    request.log.warn(
      { remoteAddress: request.ip },
      'a request came through a proxy, but TRUST_PROXY is empty: its visitors are all counted as one address. If the proxy is yours, name it there.',
    )
    done()
  })
}
