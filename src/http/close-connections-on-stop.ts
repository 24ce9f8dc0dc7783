// Asks clients to close their keep-alive connections while the process stops.
import type { FastifyInstance } from 'fastify'

/**
 * Adds `connection: close` to each response after `app.close()` was called. Without this header a
 * client could send its next request on a connection that is about to close. The returned function
 * tells whether `app.close()` has been called.
 */
export function closeConnectionsOnStop(app: FastifyInstance): () => boolean {
  let isStopping = false
  app.addHook('preClose', (done) => {
    isStopping = true
    done()
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isStopping) reply.header('connection', 'close')
    done()
  })
  return () => isStopping
}
