// The table of contents: what the service answers, one register line per room.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyInstance, LogController } from 'fastify'
import type { Redis } from 'ioredis'
import { buildOpenApiDocument, type OpenApiDocument } from './api-docs/openapi-document.ts'
import { apiDocsRoutes } from './api-docs/route.ts'
import { access } from './auth/authentication.ts'
import { registeredOrigins } from './auth/registered-origins.ts'
import type { Company } from './company/company.ts'
import { publicBaseUrl, type ServerConfig } from './config.ts'
import type { Database } from './database/postgres-pool.ts'
import { answerExpectations, answerMalformed, troubleWithHost } from './http/malformed-requests.ts'
import { answerWithProblems, Problem, sendProblem } from './http/problem-details.ts'
import { requestIds } from './http/request-ids.ts'
import { logSerializers } from './monitoring/log-redaction.ts'
import { type Metrics, startMetrics } from './monitoring/metrics.ts'
import { shedLoad } from './overload/load-shedding.ts'
import { replaceMalformedLinkPath } from './quotes/malformed-link-paths.ts'
import { quoteOperation } from './quotes/openapi.ts'
import { quoteRoutes } from './quotes/route.ts'
import { guessLimit } from './rate-limits/failed-attempt-limit.ts'
import { callerLimit, limitRates } from './rate-limits/request-rate-limits.ts'
import { warnOfUntrustedProxies } from './rate-limits/untrusted-proxy-warning.ts'
import { logRedis } from './redis/redis-outage-log.ts'
import { searchOperation } from './search/openapi.ts'
import { searchRoutes } from './search/route.ts'
import type { SearchEngine } from './search-engine/engine-client.ts'
import type { NamedEngine } from './search-engine/engine-selection.ts'
import { statsOperation } from './stats/openapi.ts'
import { statsRoutes } from './stats/route.ts'
import { webRoutes } from './web/route.ts'

export type AppOptions = {
  config: ServerConfig
  company: Company
  /** `moreEngines` are asked in turn with `engine`, as long as they are healthy. */
  connections: {
    db: Database
    redis: Redis | null
    engine: SearchEngine
    moreEngines?: NamedEngine[]
  }
  logger: { level: string; stream?: { write(line: string): void } }
  /** Told what happens: shown by operations. */
  metrics?: Metrics
  /** What time it is: another clock in tests. */
  clock?: () => Date
}

/** Answers are data: nothing in them may run, be framed or be taken for another type. Pages set their own policy over this one. */
const everyAnswer = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
}
const second = 1_000
const minute = 60 * second

const operations = [searchOperation, statsOperation, quoteOperation]

/** The OpenAPI document of a service with these settings. */
export function describeApi(config: ServerConfig): OpenApiDocument {
  return buildOpenApiDocument({
    baseUrl: publicBaseUrl(config),
    anonymousScopes: config.ANONYMOUS_SCOPES,
    operations,
  })
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
  const { db, redis, engine, moreEngines = [] } = connections
  const requestId = requestIds()
  const app = Fastify({
    logger: { ...logger, serializers: logSerializers },
    genReqId: requestId,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: config.TRUST_PROXY.length > 0 ? config.TRUST_PROXY : false,
    connectionTimeout: 30 * second,
    requestTimeout: 10 * second,
    keepAliveTimeout: 65 * second,
    bodyLimit: 1024,
    // Requests on kept connections are still answered while the process stops, with `connection: close`: a restart drops none.
    return503OnClosing: false,
    clientErrorHandler: answerMalformed,
    // Host is asked for below, where the refusal is a problem; and what comes too slowly is looked for every second.
    http: {
      requireHostHeader: false,
      headersTimeout: 10 * second,
      connectionsCheckingInterval: second,
    },
    routerOptions: { maxParamLength: 500 },
    // Nothing unknown is dropped and nothing repeated accepted: a misspelt filter must never be silently ignored.
    // Verbose: with the schema that was not met, so that a problem can say what is allowed.
    ajv: {
      customOptions: { removeAdditional: false, coerceTypes: true, allErrors: true, verbose: true },
    },
    // Without the framework's own words, which repeat the URL: a token may be in it.
    frameworkErrors: (cause, request, reply) =>
      void sendProblem(
        request,
        // No hook runs for these.
        reply.headers(everyAnswer).header('x-request-id', request.id),
        new Problem(
          'invalid_parameter',
          'The address is not well-formed: check its percent signs.',
          { cause },
        ),
      ),
    rewriteUrl: ({ url = '/' }) => replaceMalformedLinkPath(url),
  }).withTypeProvider<TypeBoxTypeProvider>()

  answerWithProblems(app, '/api/search, /api/stats and /quote/share/{token}')
  answerExpectations(app.server)
  // Hooks with callbacks: a promise for each would be felt on a route that answers from memory.
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(everyAnswer).header('x-request-id', request.id)
    const trouble = troubleWithHost(request.raw)
    done(trouble === undefined ? undefined : new Problem('invalid_parameter', trouble))
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
    request.log.info(
      { method, route: routeOptions.url ?? null, status: statusCode, ms: Math.round(elapsedTime) },
      'request',
    )
    done()
  })
  if (config.TRUST_PROXY.length === 0) warnOfUntrustedProxies(app)
  if (redis) app.addHook('onClose', logRedis(redis, app.log))
  const isRegistered = registeredOrigins(db)
  await shedLoad(app, {
    maxDelayMs: config.SHED_DELAY_MS,
    headers: everyAnswer,
    requestId,
    isRegistered,
    isStopping: () => isStopping,
    onRefusal(route) {
      metrics.requests.answered(route, 503, 0)
      metrics.shedding.refused(route)
    },
  })
  await limitRates(app, { redis, prefix: config.REDIS_PREFIX })

  const callers = access(app, {
    db,
    isRegistered,
    anonymousScopes: config.ANONYMOUS_SCOPES,
    guesses: guessLimit({
      redis,
      prefix: `${config.REDIS_PREFIX}keys:`,
      max: config.CALLER_GUESS_LIMIT_PER_MINUTE,
      windowMs: minute,
      of: 'keys that are not valid',
    }),
    ownOrigin: new URL(publicBaseUrl(config)).origin,
  })
  await app.register(searchRoutes, {
    db,
    engines: [{ name: config.SEARCH_ENGINE, engine }, ...moreEngines],
    indexName: config.SEARCH_INDEX,
    cacheBytes: config.SEARCH_MEMORY_MB * 2 ** 20,
    access: callers,
    rateLimit: callerLimit(app, '/api/search', config.SEARCH_LIMIT_PER_SECOND, second),
    observer: metrics.search,
  })
  await app.register(statsRoutes, {
    db,
    redis,
    cachePrefix: config.REDIS_PREFIX,
    company,
    access: callers,
    rateLimit: callerLimit(app, '/api/stats', config.STATS_LIMIT_PER_MINUTE, minute),
    clock,
    observer: metrics.stats,
  })
  await app.register(quoteRoutes, {
    db,
    company,
    rateLimit: callerLimit(app, '/quote/share', config.LINK_LIMIT_PER_MINUTE, minute),
    guesses: guessLimit({
      redis,
      prefix: config.REDIS_PREFIX,
      max: config.LINK_GUESS_LIMIT_PER_MINUTE,
      windowMs: minute,
      of: 'links that lead nowhere',
    }),
    countViews: config.COUNT_VIEWS,
    clock,
  })
  await app.register(webRoutes, {
    parts: config.WEB_PARTS,
    company,
    home: {
      baseUrl: publicBaseUrl(config),
      anonymousScopes: config.ANONYMOUS_SCOPES,
      paletteKey: config.HOME_PALETTE ?? null,
      quoteUrl: config.HOME_QUOTE_URL ?? null,
    },
  })
  await app.register(apiDocsRoutes, {
    document: describeApi(config),
    operations,
    serve: { openapi: config.SERVE_OPENAPI, docs: config.SERVE_DOCS },
  })
  return app
}
