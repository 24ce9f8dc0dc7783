// Creates the Fastify app and registers its plugins and routes.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { buildOpenApiDocument, type OpenApiDocument } from './api-docs/openapi-document.ts'
import { apiDocsRoutes } from './api-docs/route.ts'
import { type AccessControl, registerAccessControl } from './auth/access-control.ts'
import { createOriginCheck } from './auth/registered-origins.ts'
import type { Company } from './company/company.ts'
import { getPublicBaseUrl, type ServerConfig } from './config.ts'
import type { Database } from './database/postgres-pool.ts'
import { Replica } from './database/replica/replica.ts'
import { closeConnectionsOnStop, trackStopping } from './http/close-connections-on-stop.ts'
import { addCommonHeaders } from './http/common-headers.ts'
import {
  endpointPaths,
  quoteLinkPath,
  searchPath,
  statsPath,
  toOpenApiPath,
} from './http/endpoint-paths.ts'
import { registerErrorHandlers } from './http/error-handlers.ts'
import { rejectInvalidHosts } from './http/host-header.ts'
import { MalformedRequestResponder } from './http/malformed-requests.ts'
import { createRequestIdGenerator } from './http/request-ids.ts'
import { logRequests } from './http/request-log.ts'
import { buildServerOptions, type LoggerOptions } from './http/server-options.ts'
import { warnAboutUntrustedProxies, warnAboutWideRanges } from './http/trusted-proxies.ts'
import { createMetrics, type Metrics } from './monitoring/process-metrics.ts'
import { registerLoadShedding } from './overload/load-shedding.ts'
import { createEarlyErrorPages } from './quotes/early-error-pages.ts'
import { replaceMalformedLinkPath } from './quotes/links/malformed-link-paths.ts'
import { quoteOperation } from './quotes/openapi.ts'
import { quoteRoutes } from './quotes/route.ts'
import { FailedAttemptLimit } from './rate-limits/failed-attempt-limit.ts'
import {
  createCallerRateLimit,
  createTargetRateLimit,
  type RateLimit,
  registerRateLimiter,
} from './rate-limits/request-rate-limits.ts'
import type { RedisAccess } from './redis/optional-redis.ts'
import type { RedisClient } from './redis/redis-connection.ts'
import { RedisOutageLog } from './redis/redis-outage-log.ts'
import { searchOperation } from './search/openapi.ts'
import { searchRoutes } from './search/route.ts'
import type { RegisteredEngine } from './search-engine/engine-selection.ts'
import { shareIndexStates } from './search-engine/index-state-follower.ts'
import { QueryRecorder } from './search-report/query-recorder.ts'
import { searchReportRoutes } from './search-report/route.ts'
import { statsOperation } from './stats/openapi.ts'
import { statsRoutes } from './stats/route.ts'
import { timeouts } from './timeouts.ts'
import type { Traces } from './tracing/open-traces.ts'
import { webRoutes } from './web/route.ts'

export type AppOptions = {
  config: ServerConfig
  company: Company
  connections: {
    db: Database
    /** Uses prepared statements, on the same pool as `db`. */
    preparingDb: Database
    /** Connected to the replica, if there is one. */
    replicaDb?: Database | null
    /** Used only for searches while the search engine is unavailable. */
    searchPool: Pool
    redis: RedisClient | null
    /** Searches alternate between the healthy engines. */
    searchEngines: [RegisteredEngine, ...RegisteredEngine[]]
  }
  logger: LoggerOptions
  metrics?: Metrics
  /** Null or missing: no traces. */
  traces?: Traces | null
  /** Returns the current time. Tests replace it. */
  clock?: () => Date
  /** The time between two comparisons of the statistics summary. Tests pass a shorter one. */
  driftCheckMs?: number
}

export const operations = [searchOperation, statsOperation, quoteOperation]

/**
 * Returns the app. The caller must listen, close the app, and then close the connections.
 *
 * The life of a request:
 *
 * 1. Node parses it, and load shedding may reject it before Fastify finds its route.
 * 2. It gets common headers, and its Host header is checked.
 * 3. Its API key is checked, and then the rate limit of its caller.
 * 4. Its parameters are validated, and its route answers it. Then it is logged and counted.
 */
export async function buildApp({
  config,
  company,
  connections,
  logger,
  metrics = createMetrics(),
  traces = null,
  clock = () => new Date(),
  driftCheckMs = timeouts.stats.driftCheck.ms,
}: AppOptions): Promise<FastifyInstance> {
  const { db } = connections
  const generateRequestId = createRequestIdGenerator()
  const isRegisteredOrigin = createOriginCheck(db)
  const malformedRequests = new MalformedRequestResponder(
    metrics.requests,
    createEarlyErrorPages(company),
  )

  // Step 1: the server and what acts before routing.
  const app = Fastify(
    buildServerOptions({
      logger,
      trustedProxies: config.TRUST_PROXY,
      keepAliveMs: config.KEEP_ALIVE_SECONDS * 1_000,
      generateRequestId,
      malformedRequests,
      rewriteUrl: replaceMalformedLinkPath,
    }),
  ).withTypeProvider<TypeBoxTypeProvider>()
  // Response schemas are documentation. Serializers made of them would delay the start by 80 ms.
  app.setSerializerCompiler(() => JSON.stringify)
  const isStopping = trackStopping(app)
  malformedRequests.answerExpectations(app)
  await registerLoadShedding(app, {
    maxDelayMs: config.SHED_DELAY_MS,
    generateRequestId,
    isRegisteredOrigin,
    isStopping,
    metrics,
  })

  // Step 2: the hooks of every request. They run in this order.
  traces?.traceRequests(app)
  registerErrorHandlers(app, endpointPaths.map(toOpenApiPath))
  addCommonHeaders(app)
  rejectInvalidHosts(app, {
    publicBaseUrl: getPublicBaseUrl(config),
    allowedHosts: config.ALLOWED_HOSTS,
  })
  closeConnectionsOnStop(app, isStopping)
  logRequests(app, metrics)
  if (config.TRUST_PROXY.length === 0) warnAboutUntrustedProxies(app)
  warnAboutWideRanges(app.log, config.TRUST_PROXY)

  // Step 3: the checks of callers. Each route applies those that it needs.
  const redis = observeRedis(app, connections.redis, metrics)
  await registerRateLimiter(app, { redis, keyPrefix: config.REDIS_PREFIX })
  const access = registerAccessControl(app, {
    db,
    isRegisteredOrigin,
    anonymousScopes: config.ANONYMOUS_SCOPES,
    failedAttempts: new FailedAttemptLimit({
      redis,
      keyPrefix: `${config.REDIS_PREFIX}keys:`,
      maxPerMinute: config.CALLER_GUESS_LIMIT_PER_MINUTE,
      attempts: 'keys that are not valid',
    }),
    ownOrigin: new URL(getPublicBaseUrl(config)).origin,
  })

  // Step 4: the routes.
  const replica = observeReplica(app, connections.replicaDb ?? null, metrics)
  const api = { config, company, connections, metrics, clock, access, redis, replica }
  const recorder = createQueryRecorder(app, api)
  await registerSearch(app, api, recorder)
  const rateLimit = createCallerRateLimit(app, {
    name: statsPath,
    maxRequests: config.STATS_LIMIT_PER_MINUTE,
    per: 'minute',
  })
  if (recorder) await registerSearchReport(app, api, rateLimit)
  await registerStats(app, api, { rateLimit, driftCheckMs })
  await registerQuoteLinks(app, api)
  await registerPages(app, config, company)
  return app
}

/** Returns the OpenAPI document of a service with these settings. */
export function describeApi(config: ServerConfig): OpenApiDocument {
  return buildOpenApiDocument({
    baseUrl: getPublicBaseUrl(config),
    anonymousScopes: config.ANONYMOUS_SCOPES,
    operations,
  })
}

/** Returns access to Redis that logs and counts failures. */
function observeRedis(
  app: FastifyInstance,
  client: RedisClient | null,
  metrics: Metrics,
): RedisAccess | null {
  if (!client) return null
  const outages = new RedisOutageLog(client, app.log, metrics.redis)
  app.addHook('onClose', async () => outages.stop())
  return { client, outages }
}

/** Starts to check the replica regularly, and logs and counts the results. */
function observeReplica(
  app: FastifyInstance,
  db: Database | null,
  metrics: Metrics,
): Replica | null {
  if (!db) return null
  const replica = new Replica(db, { log: app.log, observer: metrics.replica })
  replica.start()
  app.addHook('onClose', () => replica.stop())
  return replica
}

/** What search, statistics and quote links are registered with. */
type ApiOptions = Pick<AppOptions, 'config' | 'company' | 'connections'> & {
  metrics: Metrics
  clock: () => Date
  access: AccessControl
  redis: RedisAccess | null
  replica: Replica | null
}

/** Registers the search with its rate limit. */
async function registerSearch(
  app: FastifyInstance,
  { config, connections: { db, searchPool, searchEngines }, metrics, access, redis }: ApiOptions,
  recorder: QueryRecorder | null,
): Promise<void> {
  await app.register(searchRoutes, {
    db,
    searchPool,
    engines: searchEngines,
    indexName: config.SEARCH_INDEX,
    cacheBytes: config.SEARCH_CACHE_MB * 2 ** 20,
    sharedStates: shareIndexStates(redis, config.REDIS_PREFIX),
    access,
    rateLimit: createCallerRateLimit(app, {
      name: searchPath,
      maxRequests: config.SEARCH_LIMIT_PER_SECOND,
      per: 'second',
    }),
    observer: metrics.search,
    ...(recorder && {
      onCompleteSearch: (caller, text, hasHits) => recorder.record(caller, text, hasHits),
    }),
  })
}

/** Returns the recorder of the queries for the search report, or null if the report is off. */
function createQueryRecorder(
  app: FastifyInstance,
  { config, connections: { db, searchEngines }, redis }: ApiOptions,
): QueryRecorder | null {
  if (!config.SEARCH_REPORT) return null
  const recorder = new QueryRecorder({
    db,
    redis,
    keyPrefix: config.REDIS_PREFIX,
    engines: searchEngines,
    indexName: config.SEARCH_INDEX,
    secret: config.MEILI_SEARCH_KEY,
    log: app.log,
  })
  app.addHook('onClose', () => recorder.stop())
  return recorder
}

/** Registers the search report if there is a dashboard. It shares a rate limit with statistics. */
async function registerSearchReport(
  app: FastifyInstance,
  { config, connections: { db }, access }: ApiOptions,
  rateLimit: RateLimit,
): Promise<void> {
  if (!config.WEB_PARTS.includes('dashboard')) return
  await app.register(searchReportRoutes, { db, access, rateLimit })
}

/** Registers the statistics. */
async function registerStats(
  app: FastifyInstance,
  { config, company, connections, metrics, clock, access, redis, replica }: ApiOptions,
  { rateLimit, driftCheckMs }: { rateLimit: RateLimit; driftCheckMs: number },
): Promise<void> {
  await app.register(statsRoutes, {
    db: connections.preparingDb,
    replica,
    redis,
    keyPrefix: config.REDIS_PREFIX,
    company,
    access,
    rateLimit,
    clock,
    driftCheckMs,
    observer: metrics.stats,
  })
}

/** Registers the quote links with their limits. */
async function registerQuoteLinks(
  app: FastifyInstance,
  { config, company, connections, metrics, clock, redis, replica }: ApiOptions,
): Promise<void> {
  await app.register(quoteRoutes, {
    db: connections.preparingDb,
    databaseUrl: config.DATABASE_URL,
    replica,
    replicaUrl: config.REPLICA_DATABASE_URL ?? null,
    company,
    rateLimit: createTargetRateLimit(app, {
      name: quoteLinkPath,
      maxRequests: config.LINK_LIMIT_PER_MINUTE,
      per: 'minute',
    }),
    failedAttempts: new FailedAttemptLimit({
      redis,
      keyPrefix: config.REDIS_PREFIX,
      maxPerMinute: config.LINK_GUESS_LIMIT_PER_MINUTE,
      attempts: 'unknown links',
    }),
    countViews: config.COUNT_VIEWS,
    offersReplies: config.QUOTE_REPLIES,
    observer: metrics.quotes,
    clock,
  })
}

/** Registers the web pages, /openapi.json and /docs if the configuration enables them. */
async function registerPages(
  app: FastifyInstance,
  config: ServerConfig,
  company: Company,
): Promise<void> {
  await app.register(webRoutes, {
    parts: config.WEB_PARTS,
    company,
    hasSearchReport: config.SEARCH_REPORT,
    home: {
      baseUrl: getPublicBaseUrl(config),
      anonymousScopes: config.ANONYMOUS_SCOPES,
      paletteKey: config.HOME_PALETTE ?? null,
      quoteUrl: config.HOME_QUOTE_URL ?? null,
      hasDocs: config.SERVE_DOCS,
    },
  })
  await app.register(apiDocsRoutes, {
    buildDocument: () => describeApi(config),
    operations,
    serve: { openapi: config.SERVE_OPENAPI, docs: config.SERVE_DOCS },
  })
}
