// Asks clients to close their keep-alive connections while the process stops.
import type { FastifyInstance } from 'fastify'

export function trackStopping(app: FastifyInstance): () => boolean {
  let isStopping = false
  app.addHook('preClose', (done) => {
    isStopping = true
    done()
  })
  return () => isStopping
}

/**
 * Adds `connection: close` to each response while the app stops. Without this header a client could
 * send its next request on a connection that is about to close.
 */
export function closeConnectionsOnStop(app: FastifyInstance, isStopping: () => boolean): void {
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isStopping()) reply.header('connection', 'close')
    done()
  })
}
