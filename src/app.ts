// The table of contents: what the service answers, one register line per room.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyInstance, LogController } from 'fastify'
import type { Redis } from 'ioredis'
import { access } from './access/caller.ts'
import { guessLimit } from './access/guess-limit.ts'
import { limitRates } from './access/rate-limits.ts'
import { warnOfUntrustedProxies } from './access/untrusted-proxies.ts'
import type { Company } from './company.ts'
import { publicBaseUrl, type ServerConfig } from './config.ts'
import type { Database } from './connections.ts'
import { logSerializers } from './log.ts'
import { apiRoutes } from './operations/api-routes.ts'
import { type Metrics, startMetrics } from './operations/metrics.ts'
import { type OpenApiDocument, openapiDocument } from './operations/openapi.ts'
import { answerWithProblems, Problem, sendProblem } from './problem.ts'
import { quoteOperation } from './quotes/description.ts'
import { linkPath } from './quotes/link-path.ts'
import { quoteRoutes } from './quotes/route.ts'
import { requestIds } from './request-id.ts'
import { searchOperation } from './search/description.ts'
import type { SearchEngine } from './search/engine.ts'
import { searchRoutes } from './search/route.ts'
import { statsOperation } from './stats/description.ts'
import { statsRoutes } from './stats/route.ts'

export type AppOptions = {
  config: ServerConfig
  company: Company
  connections: { db: Database; redis: Redis | null; engine: SearchEngine }
  logger: { level: string; stream?: { write(line: string): void } }
  /** Told what happens: shown by operations. */
  metrics?: Metrics
  /** What time it is: another clock in tests. */
  clock?: () => Date
}

const second = 1_000
const minute = 60 * second

const operations = [searchOperation, statsOperation, quoteOperation]

/** The OpenAPI document of a service with these settings. */
export function describeApi(config: ServerConfig): OpenApiDocument {
  return openapiDocument({ baseUrl: publicBaseUrl(config), anonymousScopes: config.ANONYMOUS_SCOPES, operations })
}

/** Builds the API. The caller listens and closes; the connections stay the caller's. */
export async function buildApp({
  config,
  company,
  connections,
  logger,
  metrics = startMetrics(),
  clock = () => new Date(),
}: AppOptions): Promise<FastifyInstance> {
  const { db, redis, engine } = connections
  const app = Fastify({
    logger: { ...logger, serializers: logSerializers },
    genReqId: requestIds(),
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: config.TRUST_PROXY.length > 0 ? config.TRUST_PROXY : false,
    connectionTimeout: 30 * second,
    requestTimeout: 10 * second,
    keepAliveTimeout: 65 * second,
    // A request that comes in on an open connection while the process stops is still answered, and told to come back on another.
    return503OnClosing: false,
    bodyLimit: 1024,
    routerOptions: { maxParamLength: 500 },
    // Nothing unknown is dropped and nothing repeated accepted: a misspelt filter must never be silently ignored.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: true, allErrors: true } },
    // Without the framework's own words, which repeat the URL: a token may be in it.
    frameworkErrors: (cause, request, reply) =>
      void sendProblem(
        request,
        reply,
        new Problem('invalid_parameter', 'The address is not well-formed: check its percent signs.', { cause }),
      ),
    rewriteUrl: ({ url = '/' }) => linkPath(url),
  }).withTypeProvider<TypeBoxTypeProvider>()

  answerWithProblems(app)
  // Hooks with callbacks: a promise for each would be felt on a route that answers from memory.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  // A client that keeps its connection must hear that it ends, or its next request is lost on it.
  let isStopping = false
  app.addHook('preClose', (done) => {
    isStopping = true
    done()
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isStopping) reply.header('connection', 'close')
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    // The pattern, never the URL: a quote link's token is a secret.
    const { method, routeOptions } = request
    const { statusCode, elapsedTime } = reply
    metrics.requests.answered(routeOptions.url, statusCode, elapsedTime)
    request.log.info({ method, route: routeOptions.url ?? null, status: statusCode, ms: Math.round(elapsedTime) }, 'request')
    done()
  })
  if (config.TRUST_PROXY.length === 0) warnOfUntrustedProxies(app)
  await limitRates(app, { redis, prefix: config.REDIS_PREFIX })

  const callers = access(app, db, config.ANONYMOUS_SCOPES)
  await app.register(searchRoutes, {
    db,
    engine,
    indexName: config.SEARCH_INDEX,
    engineName: config.SEARCH_ENGINE,
    memoryBytes: config.SEARCH_MEMORY_MB * 2 ** 20,
    access: callers,
    rateLimit: { max: config.SEARCH_LIMIT_PER_SECOND, timeWindow: second },
    observer: metrics.search,
  })
  await app.register(statsRoutes, {
    db,
    redis,
    cachePrefix: config.REDIS_PREFIX,
    company,
    access: callers,
    rateLimit: { max: config.STATS_LIMIT_PER_MINUTE, timeWindow: minute },
    clock,
    observer: metrics.stats,
  })
  await app.register(quoteRoutes, {
    db,
    company,
    rateLimit: { max: config.LINK_LIMIT_PER_MINUTE, timeWindow: minute },
    guesses: guessLimit({ redis, prefix: config.REDIS_PREFIX, max: config.LINK_GUESS_LIMIT_PER_MINUTE, windowMs: minute }),
    countViews: config.COUNT_VIEWS,
    clock,
  })
  await app.register(apiRoutes, {
    document: describeApi(config),
    operations,
    serve: { openapi: config.SERVE_OPENAPI, docs: config.SERVE_DOCS },
  })
  return app
}
