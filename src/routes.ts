// Registers every route, with its rate limit and all else that it needs.
//
// Only endpoints for GET are possible. For another method, change also:
// - src/http/error-handlers.ts: `rejectOtherMethods` answers 405, and `allowedMethods` is in the
//   headers of 405 and of preflights. Errors of a body parser are
//   internal errors.
// - src/auth/cors.ts: preflights use the `config` of the GET route, and allow only one header.
// - src/http/server-options.ts: `maxBodyBytes` limits every body.
// - src/overload/load-shedding.ts: only routes for GET count.
// - src/api-docs/openapi-document.ts: it describes only GET.
// - test/http/route-schemas.test.ts and test/support/openapi-conformance.ts: they check only GET.
//
// To add an endpoint:
// 1. Write its path in src/http/endpoint-paths.ts. The 404 problem and the metrics list it.
// 2. Write its route in a feature. `config` of the route must state its `requiredScope`, which is
//    null if the route is open to everybody. It may state when load shedding rejects its requests.
//    src/auth/access-control.ts and src/overload/load-shedding.ts declare what `config` may
//    contain. If the route returns an object, the response has only the fields of its schema. If
//    it sends text or bytes, it must select the fields itself, and its `serializerCompiler` is
//    `serializeOnlyProblems`.
// 3. Limit its requests. A `CallerRateLimit` counts the requests of each caller: it is the
//    `preParsing` of the route. A `TargetRateLimit` counts the requests for each target, such as a
//    quote link: the handler of the route calls it. For a new limit, write the setting in
//    src/config/settings-schema.ts and scripts/env.ts, and create the limit here. Register the
//    route here. test/http/route-schemas.test.ts fails if a route with a scope has no limit.
// 4. Describe it as an `Operation` in the feature, and add that to `apiOperations`.
// 5. Add a new scope to `allScopes` (src/database/table-types.ts), and to the check constraint
//    `api_keys_scopes_check` in a migration. test/auth/access-control.test.ts compares them.
import type { FastifyInstance } from 'fastify'
import { buildOpenApiDocument, type OpenApiDocument } from './api-docs/openapi-document.ts'
import { apiDocsRoutes } from './api-docs/route.ts'
import type { AccessControl } from './auth/access-control.ts'
import type { Company } from './company/company-file.ts'
import { getPublicBaseUrl, type ServerConfig } from './config.ts'
import type { Connections } from './connections.ts'
import { quoteLinkPath, searchPath, statsPath } from './http/endpoint-paths.ts'
import type { Metrics } from './monitoring/process-metrics.ts'
import { quoteOperation } from './quotes/openapi.ts'
import { quoteRoutes } from './quotes/route.ts'
import { GuessLimit } from './rate-limits/guess-limit.ts'
import {
  type CallerRateLimit,
  createCallerRateLimit,
  createTargetRateLimit,
} from './rate-limits/request-rate-limits.ts'
import type { RedisAccess } from './redis/optional-redis.ts'
import { searchOperation } from './search/openapi.ts'
import { searchRoutes } from './search/route.ts'
import { QueryRecorder } from './search-report/query-recorder.ts'
import { searchReportRoutes } from './search-report/report.ts'
import { statsOperation } from './stats/openapi.ts'
import { statsRoutes } from './stats/route.ts'
import { webRoutes } from './web/route.ts'

export type RouteOptions = Pick<
  Connections,
  'db' | 'dbWithPreparedStatements' | 'searchPool' | 'searchEngines'
> & {
  config: ServerConfig
  company: Company
  /** Null if no Redis is configured. */
  redis: RedisAccess | null
  /** The name of the index in each engine. */
  indexName: string
  /** For routes that need a further scope for some of their parameters. */
  access: AccessControl
  /** Each feature gets its part as `observer`, and calls it to count what happens. */
  metrics: Metrics
  clock: () => Date
  /** The time between two drift checks of the statistics summary. */
  driftCheckMs: number
}

/** What the OpenAPI document and the page /docs describe. */
export const apiOperations = [searchOperation, statsOperation, quoteOperation]

/** Returns the OpenAPI document of a service with these settings. */
export function describeApi(config: ServerConfig): OpenApiDocument {
  return buildOpenApiDocument({
    baseUrl: getPublicBaseUrl(config),
    anonymousScopes: config.ANONYMOUS_SCOPES,
    operations: apiOperations,
  })
}

/** Registers the routes that the settings enable. */
export async function registerRoutes(app: FastifyInstance, options: RouteOptions): Promise<void> {
  const { config, company, db, dbWithPreparedStatements, redis, access, metrics, clock } = options
  const redisPrefix = config.REDIS_PREFIX
  const searchLimit = createCallerRateLimit(app, {
    name: searchPath,
    maxRequests: config.SEARCH_LIMIT_PER_SECOND,
    per: 'second',
  })
  // Statistics and the search report share this limit.
  const statsLimit = createCallerRateLimit(app, {
    name: statsPath,
    maxRequests: config.STATS_LIMIT_PER_MINUTE,
    per: 'minute',
  })
  const linkLimit = createTargetRateLimit(app, {
    name: quoteLinkPath,
    maxRequests: config.LINK_LIMIT_PER_MINUTE,
    per: 'minute',
  })
  const guessLimit = new GuessLimit({
    redis,
    redisPrefix,
    kind: 'links',
    maxPerMinute: config.LINK_GUESS_LIMIT_PER_MINUTE,
  })

  const recorder = config.SEARCH_REPORT
    ? await registerSearchReport(app, options, statsLimit)
    : null
  await app.register(searchRoutes, {
    db,
    searchPool: options.searchPool,
    engines: options.searchEngines,
    indexName: options.indexName,
    cacheBytes: config.SEARCH_CACHE_MB * 2 ** 20,
    rateLimit: searchLimit,
    observer: metrics.search,
    ...(recorder && {
      onCompleteSearch: (query) => recorder.record(query),
    }),
  })
  await app.register(statsRoutes, {
    db: dbWithPreparedStatements,
    redis,
    redisPrefix,
    company,
    access,
    rateLimit: statsLimit,
    clock,
    driftCheckMs: options.driftCheckMs,
    observer: metrics.stats,
  })
  await app.register(quoteRoutes, {
    db: dbWithPreparedStatements,
    company,
    rateLimit: linkLimit,
    guessLimit,
    countViews: config.COUNT_VIEWS,
    isHttps: getPublicBaseUrl(config).startsWith('https:'),
    offersReplies: config.QUOTE_REPLIES,
    observer: metrics.quotes,
    clock,
  })
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
    serve: { openapi: config.SERVE_OPENAPI, docs: config.SERVE_DOCS },
  })
}

/** Registers the search report, which the dashboard shows. Returns the recorder of its queries. */
async function registerSearchReport(
  app: FastifyInstance,
  { config, db, redis, access }: RouteOptions,
  rateLimit: CallerRateLimit,
): Promise<QueryRecorder> {
  const recorder = new QueryRecorder({
    db,
    redis,
    redisPrefix: config.REDIS_PREFIX,
    // MEILI_SEARCH_KEY is also the secret of the report's hashes. Every API process has it, and
    // neither PostgreSQL nor Redis stores it. Another secret would be one more
    // setting. Changing the key begins new hashes, and old ones match nothing: the callers of a
    // rare text are counted from zero.
    secret: config.MEILI_SEARCH_KEY,
    log: app.log,
  })
  app.addHook('onClose', () => recorder.stop())
  if (config.WEB_PARTS.includes('dashboard'))
    await app.register(searchReportRoutes, { db, access, rateLimit })
  return recorder
}
