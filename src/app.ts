// The table of contents: what the service answers, one register line per room.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyInstance, type FastifyServerOptions, LogController } from 'fastify'
import type { Redis } from 'ioredis'
import { access } from './access/caller.ts'
import { guessLimit } from './access/guess-limit.ts'
import { limitRates } from './access/rate-limits.ts'
import { warnOfUntrustedProxies } from './access/untrusted-proxies.ts'
import type { Company } from './company.ts'
import type { ServerConfig } from './config.ts'
import type { Database } from './connections.ts'
import { answerWithProblems, Problem, sendProblem } from './problem.ts'
import { linkPath } from './quotes/link-path.ts'
import { quoteRoutes } from './quotes/route.ts'
import type { SearchEngine } from './search/engine.ts'
import { searchRoutes } from './search/route.ts'
import { statsRoutes } from './stats/route.ts'

export type AppOptions = {
  config: ServerConfig
  company: Company
  connections: { db: Database; redis: Redis | null; engine: SearchEngine }
  logger: NonNullable<FastifyServerOptions['logger']>
  /** What time it is: another clock in tests. */
  clock?: () => Date
}

const second = 1_000
const minute = 60 * second

/** Builds the API. The caller listens and closes; the connections stay the caller's. */
export async function buildApp({ config, company, connections, logger, clock = () => new Date() }: AppOptions): Promise<FastifyInstance> {
  const { db, redis, engine } = connections
  const app = Fastify({
    logger,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: config.TRUST_PROXY.length > 0 ? config.TRUST_PROXY : false,
    connectionTimeout: 30 * second,
    requestTimeout: 10 * second,
    keepAliveTimeout: 65 * second,
    bodyLimit: 1024,
    routerOptions: { maxParamLength: 500 },
    // Nothing unknown is dropped and nothing repeated accepted: a misspelt filter must never be silently ignored.
    // Verbose: with the schema that was not met, so that a problem can say what is allowed.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: true, allErrors: true, verbose: true } },
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
  app.addHook('onResponse', (request, reply, done) => {
    // The pattern, never the URL: a quote link's token is a secret.
    const { method, routeOptions } = request
    request.log.info({ method, route: routeOptions.url ?? null, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'request')
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
  })
  await app.register(statsRoutes, {
    db,
    redis,
    cachePrefix: config.REDIS_PREFIX,
    company,
    access: callers,
    rateLimit: { max: config.STATS_LIMIT_PER_MINUTE, timeWindow: minute },
    clock,
  })
  await app.register(quoteRoutes, {
    db,
    company,
    rateLimit: { max: config.LINK_LIMIT_PER_MINUTE, timeWindow: minute },
    guesses: guessLimit({ redis, prefix: config.REDIS_PREFIX, max: config.LINK_GUESS_LIMIT_PER_MINUTE, windowMs: minute }),
    countViews: config.COUNT_VIEWS,
    clock,
  })
  return app
}
