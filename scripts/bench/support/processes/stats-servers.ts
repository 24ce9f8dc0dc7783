// The servers that scripts/bench/stats.ts measures: the API with the baseline route beside it, or
// the minimal route alone.
import Fastify from 'fastify'
import { buildApp } from '../../../../src/app.ts'
import { readCompany } from '../../../../src/company/company-file.ts'
import { readServerConfig } from '../../../../src/config.ts'
import { createKysely, openPool } from '../../../../src/database/postgres-pool.ts'
import { createPreparingKysely } from '../../../../src/database/prepared-statements.ts'
import { buildApiOperationsApp } from '../../../../src/monitoring/api-operations-app.ts'
import { openLogDestination } from '../../../../src/monitoring/log/log-destination.ts'
import { createMetrics } from '../../../../src/monitoring/process-metrics.ts'
import { openRedis } from '../../../../src/redis/redis-connection.ts'
import { openSearchEngine } from '../../../../src/search-engine/client.ts'

/** The body that both routes send, from the parent: the response of /api/stats. */
const { BENCH_BODY = '', BENCH_KEY = '', BENCH_SERVER = '', PORT = '0' } = process.env
const body = Buffer.from(BENCH_BODY, 'base64')

const app = BENCH_SERVER === 'minimal' ? minimalServer() : await apiWithBaseline()
await app.listen({ host: '127.0.0.1', port: Number(PORT) })
process.once('SIGTERM', () => process.exit(0))

/** A Fastify route that only sends the bytes. */
function minimalServer() {
  const app = Fastify()
  app.get(
    '/minimal',
    (_request, reply) => void reply.type('application/json; charset=utf-8').send(body),
  )
  return app
}

/**
 * The API as it is in production, and in the same process a route with the same log line, request
 * id, key check, validation and headers.
 */
async function apiWithBaseline() {
  const config = readServerConfig()
  const pool = openPool(config.DATABASE_URL)
  const db = createKysely(pool)
  const redis = config.REDIS_URL === undefined ? null : await openRedis(config.REDIS_URL)
  const metrics = createMetrics()
  const app = await buildApp({
    config,
    metrics,
    company: readCompany(config.COMPANY_FILE),
    indexName: config.SEARCH_INDEX,
    connections: {
      db,
      dbWithPreparedStatements: createPreparingKysely(pool),
      searchPool: pool,
      redis,
      searchEngines: [
        {
          registrationName: config.SEARCH_ENGINE,
          engine: openSearchEngine(config.MEILI_URL, config.MEILI_SEARCH_KEY),
        },
      ],
    },
    logger: { level: config.LOG_LEVEL, stream: openLogDestination() },
    traces: null,
  })
  // The metrics of production, which cost time too.
  buildApiOperationsApp({
    db,
    redis: null,
    engine: { health: async () => undefined },
    metrics,
    pool,
    readIndexProgress: async () => [],
    readCheckAgeSeconds: async () => 0,
  })
  const keys = new Set([`Bearer ${BENCH_KEY}`])
  const querystring = {
    type: 'object',
    properties: {
      from: { type: 'string' },
      to: { type: 'string' },
      date: { type: 'string', enum: ['issued', 'accepted'], default: 'issued' },
    },
    additionalProperties: false,
  }
  app.get(
    '/baseline',
    {
      schema: { querystring },
      config: {
        // The hook below checks the key, as access control does for other routes.
        requiredScope: null,
        rateLimit: {
          max: config.STATS_LIMIT_PER_MINUTE,
          timeWindow: 60_000,
          allowList: () => true,
        },
      },
      onRequest: (request, reply, done) => {
        if (keys.has(request.headers.authorization ?? '')) done()
        else reply.code(401).send()
      },
    },
    (request, reply) => {
      reply
        .header('cache-control', 'private, no-cache')
        .header('vary', 'accept, accept-encoding')
        .header('etag', 'W/"the-same-length-as-a-sha-256-in-base64url-has"')
        .header('age', '0')
        .header('cache-status', 'stats; hit')
      if (request.headers['if-none-match'] === 'W/"the-same-length-as-a-sha-256-in-base64url-has"')
        return void reply.code(304).send()
      reply.type('application/json; charset=utf-8').send(body)
    },
  )
  return app
}
