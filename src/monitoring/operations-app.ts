// What the operations apps of the API and of the indexer share: /health/live and /metrics.
import Fastify, { type FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { addCommonHeaders } from '../http/common-headers.ts'
import { registerErrorHandlers } from '../http/error-handlers.ts'

export function createOperationsApp(registry: Registry): FastifyInstance {
  const app = Fastify({ logger: false })
  registerErrorHandlers(app, ['/health/live', '/health/ready', '/metrics'])
  addCommonHeaders(app)
  app.get('/health/live', async () => ({ status: 'live' }))
  app.get('/metrics', async (_request, reply) => {
    reply.type(registry.contentType).header('cache-control', 'no-store')
    return registry.metrics()
  })
  return app
}
