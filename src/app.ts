// Creates the Fastify app: what every request passes before it reaches its route.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyInstance } from 'fastify'
import { registerAccessControl } from './auth/access-control.ts'
import { mayContainKey } from './auth/api-keys.ts'
import { createOriginCheck } from './auth/cors.ts'
import { getPublicBaseUrl, isPublicHostUnknown } from './config.ts'
import type { Connections } from './connections.ts'
import { warnAboutUntrustedProxies, warnAboutWideRanges } from './http/client-address.ts'
import { addCommonHeaders, closeConnectionsOnStop } from './http/common-headers.ts'
import { endpointPaths, toOpenApiPath } from './http/endpoint-paths.ts'
import { registerErrorHandlers } from './http/error-handlers.ts'
import { rejectOtherHosts, unknownHostWarning } from './http/host-header.ts'
import { createRequestIdGenerator, logRequests } from './http/request-log.ts'
import { buildServerOptions, type LoggerOptions } from './http/server-options.ts'
import { createMetrics, type Metrics } from './monitoring/process-metrics.ts'
import { registerLoadShedding } from './overload/load-shedding.ts'
import { replaceMalformedLinkPath } from './quotes/responses.ts'
import { GuessLimit } from './rate-limits/guess-limit.ts'
import { registerRateLimiter } from './rate-limits/request-rate-limits.ts'
import { observeRedis } from './redis/optional-redis.ts'
import { type RouteOptions, registerRoutes } from './routes.ts'
import type { Traces } from './tracing/open-traces.ts'

// A month of 140,000 quotes takes one or two seconds, and a difference is rare.
const defaultDriftCheckMs = 60_000

type AppOptions = Pick<RouteOptions, 'config' | 'company' | 'indexName'> & {
  connections: Omit<Connections, 'pool'>
  logger: LoggerOptions
  metrics?: Metrics
  traces: Traces | null
  /** Returns the current time for statistics and quote links. Tests replace it. */
  clock?: () => Date
  /** The time between two drift checks of the statistics summary. Tests pass a shorter one. */
  driftCheckMs?: number
}

/**
 * Returns the app. Start it with `listen()`, end it with `close()`, and then close `connections`.
 * Building the app must be fast: a process that replaces another one serves sooner, and each test
 * builds apps of its own.
 *
 * The life of a request:
 *
 * 1. Node parses it, and load shedding may reject it before Fastify finds its route.
 * 2. It gets common headers, and its Host header is checked (onRequest).
 * 3. If its route requires a scope, its API key is checked (onRequest), and then the rate limit of
 *    its caller (preParsing).
 * 4. Its parameters are validated, and its route answers it. The route of quote links checks the
 *    rate limit of the link itself. Then the request is logged and counted (onResponse).
 *
 * Hooks of the same kind run in the order of their registration. So these calls in steps 2 to 4
 * have this order (test/http/hook-order.test.ts):
 *
 * | call                    | why it is here                                                   |
 * | ----------------------- | ---------------------------------------------------------------- |
 * | `traceRequests`         | The span of a request contains all other hooks.                  |
 * | `logRequests`           | The duration contains every hook that takes time.                |
 * | `registerErrorHandlers` | It adds routes that answer 405. Preflights use their `config`.   |
 * | `addCommonHeaders`      | The problem of every rejection that follows has these headers.   |
 * | `rejectOtherHosts`      | A request for another host cannot try keys.                      |
 * | `registerAccessControl` | An invalid key gets 401, and a valid key has its own rate limit. |
 * | `registerRoutes`        | The hooks above apply to routes that are registered after them.  |
 *
 * For the other calls it matters only that they come before `registerRoutes`.
 * `closeConnectionsOnStop` adds the only onSend hook, `warnAboutUntrustedProxies` rejects no
 * request, and `registerRateLimiter` only provides `app.rateLimit`.
 */
export async function buildApp({
  config,
  company,
  indexName,
  connections,
  logger,
  metrics = createMetrics(),
  traces,
  clock = () => new Date(),
  driftCheckMs = defaultDriftCheckMs,
}: AppOptions): Promise<FastifyInstance> {
  const { db, dbWithPreparedStatements, searchPool, searchEngines } = connections
  const generateRequestId = createRequestIdGenerator(mayContainKey)

  // Step 1: the server and what acts before routing.
  const app = Fastify(
    buildServerOptions({
      logger,
      trustedProxies: config.TRUST_PROXY,
      keepAliveMs: config.KEEP_ALIVE_SECONDS * 1_000,
      generateRequestId,
      counter: metrics.requests,
      // The visitor of a malformed quote link gets the 404 page for unknown links.
      rewriteUrl: replaceMalformedLinkPath,
    }),
  ).withTypeProvider<TypeBoxTypeProvider>()
  const isRegisteredOrigin = createOriginCheck(db, app.log)
  const isStopping = closeConnectionsOnStop(app)
  await registerLoadShedding(app, {
    maxDelayMs: config.SHED_DELAY_MS,
    generateRequestId,
    isRegisteredOrigin,
    isStopping,
    metrics,
  })

  // Step 2: the hooks of every request, in the order that the table above explains.
  traces?.traceRequests(app)
  logRequests(app, metrics.requests)
  registerErrorHandlers(app, endpointPaths.map(toOpenApiPath))
  addCommonHeaders(app)
  rejectOtherHosts(app, {
    publicBaseUrl: getPublicBaseUrl(config),
    allowedHosts: config.ALLOWED_HOSTS,
    allowsAddresses: isPublicHostUnknown(config),
  })
  if (isPublicHostUnknown(config)) app.log.warn(unknownHostWarning(getPublicBaseUrl(config)))
  if (config.TRUST_PROXY.length === 0) warnAboutUntrustedProxies(app)
  warnAboutWideRanges(app.log, config.TRUST_PROXY)

  // Step 3: the checks of callers. Access control reads the `requiredScope` of each route. A rate
  // limit applies to the routes that registerRoutes passes it to (src/routes.ts).
  const redis = connections.redis && observeRedis(connections.redis, app.log)
  await registerRateLimiter(app, { redis, redisPrefix: config.REDIS_PREFIX })
  const access = registerAccessControl(app, {
    db,
    isRegisteredOrigin,
    anonymousScopes: config.ANONYMOUS_SCOPES,
    guessLimit: new GuessLimit({
      redis,
      redisPrefix: config.REDIS_PREFIX,
      kind: 'keys',
      maxPerMinute: config.CALLER_GUESS_LIMIT_PER_MINUTE,
    }),
    ownOrigin: new URL(getPublicBaseUrl(config)).origin,
  })

  // Step 4: the routes.
  await registerRoutes(app, {
    config,
    company,
    db,
    dbWithPreparedStatements,
    searchPool,
    redis,
    searchEngines,
    indexName,
    access,
    metrics,
    clock,
    driftCheckMs,
  })
  return app
}
