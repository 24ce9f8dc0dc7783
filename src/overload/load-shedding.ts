// Rejects requests before Fastify handles them if the process or the search engine is overloaded.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import underPressure from '@fastify/under-pressure'
import type { FastifyContextConfig, FastifyInstance } from 'fastify'
import { allowsCrossOrigin, corsHeadersOfError, type OriginCheck } from '../auth/cors.ts'
import { buildCommonHeaders } from '../http/common-headers.ts'
import { type Problem, problemHeaders } from '../http/problem-details.ts'
import type { RequestIdGenerator } from '../http/request-log.ts'
import type { Metrics } from '../monitoring/process-metrics.ts'
import { overloadedProblem, serializeOverloadedProblem } from './concurrency-limit.ts'

// It has the number of all rejections. Of many, not each has a line of its own: writing the lines
// would cost more than rejecting the requests.
export const logIntervalMs = 10_000
const maxLinesPerInterval = 100
// Long enough to average out single slow requests.
const eventLoopSampleMs = 500

/**
 * Returns the page of a problem for a request that does not reach its route. Null: JSON is sent.
 */
type BuildErrorPage = (
  request: Pick<IncomingMessage, 'url' | 'headers'>,
  problem: Problem,
) => { headers: Record<string, string>; bytes: string | Buffer } | null

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Multiplies the event loop delay above which requests of the route are rejected. */
    maxDelayFactor?: number
    /** Returns whether a request with this URL can be handled. Runs before authentication. */
    hasCapacity?: (url: string) => boolean
    buildOverloadPage?: BuildErrorPage
  }
}

type LoadSheddingOptions = {
  /** Requests are rejected if the average event loop delay is longer. 0: never. */
  maxDelayMs: number
  generateRequestId: RequestIdGenerator
  isRegisteredOrigin: OriginCheck
  isStopping(): boolean
  metrics: Pick<Metrics, 'requests' | 'shedding'>
}

/**
 * Rejects GET and HEAD requests whose route has no capacity. While the event loop is delayed, it
 * also rejects a share of all requests, which grows with the delay. Rejected requests are not
 * authenticated and do not count against rate limits. `app.inject` bypasses load shedding.
 *
 * Call this function before the routes are registered.
 */
export async function registerLoadShedding(
  app: FastifyInstance,
  options: LoadSheddingOptions,
): Promise<void> {
  // The plugin only measures the delay here. Its own limit would be a hook of Fastify, and a
  // rejection in a hook costs more.
  await app.register(underPressure, { sampleInterval: eventLoopSampleMs })
  const shedding = new LoadShedding(app, options)
  const { server } = app
  const listeners = server.listeners('request') as RequestListener[]
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    if (shedding.reject(request, response)) return
    for (const listener of listeners) listener(request, response)
  })
}

class LoadShedding {
  readonly #app: FastifyInstance
  readonly #options: LoadSheddingOptions
  readonly #findRoute: (url: string) => RouteInfo | undefined
  readonly #logRejection: (rejection: LoggedRejection) => void

  constructor(app: FastifyInstance, options: LoadSheddingOptions) {
    this.#app = app
    this.#options = options
    this.#findRoute = createRouteLookup(app)
    this.#logRejection = createRejectionLog(app)
  }

  reject(request: IncomingMessage, response: ServerResponse): boolean {
    const route = this.#findRoute(request.url ?? '')
    if (!this.#isRejectedForDelay(request, route) && !lacksCapacity(request, route)) return false
    const requestId = this.#options.generateRequestId(request)
    this.#countRejection(request, requestId, route?.pattern)
    void this.#sendRejection(request, response, { route, requestId })
    return true
  }

  /** Counts and logs a rejection, because no hook of Fastify sees the request. */
  #countRejection(
    { method = '' }: IncomingMessage,
    reqId: string,
    route: string | undefined,
  ): void {
    const { metrics } = this.#options
    metrics.requests.countRequest(route, 503, 0)
    metrics.shedding.countRejection(route)
    this.#logRejection({ reqId, method, route: route ?? null })
  }

  /**
   * Returns true for a share of the requests: for none up to the allowed delay, and for half of
   * them at twice that delay. Never for a preflight.
   */
  #isRejectedForDelay({ method }: IncomingMessage, route: RouteInfo | undefined): boolean {
    const maxDelayMs = this.#options.maxDelayMs * (route?.config.maxDelayFactor ?? 1)
    if (maxDelayMs === 0 || method === 'OPTIONS') return false
    const delayMs = this.#app.memoryUsage().eventLoopDelay
    return delayMs > maxDelayMs && Math.random() >= maxDelayMs / delayMs
  }

  async #sendRejection(
    request: IncomingMessage,
    response: ServerResponse,
    { route, requestId }: { route: RouteInfo | undefined; requestId: string },
  ): Promise<void> {
    const { isRegisteredOrigin, isStopping } = this.#options
    const crossOriginHeaders = route &&
      allowsCrossOrigin(route.config) && {
        vary: 'Origin',
        ...(await corsHeadersOfError(request.headers.origin, isRegisteredOrigin)),
      }
    const page = route?.config.buildOverloadPage?.(request, overloadedProblem)
    const body = page?.bytes ?? serializeOverloadedProblem(requestId)
    response
      .writeHead(503, {
        ...buildCommonHeaders(requestId),
        ...overloadedProblem.headers,
        ...problemHeaders,
        ...page?.headers,
        'content-length': Buffer.byteLength(body),
        ...crossOriginHeaders,
        ...(isStopping() && { connection: 'close' }),
      })
      .end(body)
  }
}

function lacksCapacity({ method, url = '' }: IncomingMessage, route?: RouteInfo): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  return isRead && route?.config.hasCapacity?.(url) === false
}

type LoggedRejection = { reqId: string; method: string; route: string | null }

/** Returns a function that logs a rejection, and every ten seconds the number of all of them. */
function createRejectionLog(app: FastifyInstance): (rejection: LoggedRejection) => void {
  let rejected = 0
  let timer: NodeJS.Timeout | undefined
  function logSum(): void {
    clearTimeout(timer)
    timer = undefined
    if (rejected === 0) return
    const unlogged = Math.max(0, rejected - maxLinesPerInterval)
    app.log.warn({ rejected, unlogged }, 'requests were rejected because of overload')
    rejected = 0
  }
  app.addHook('onClose', async () => logSum())
  return (rejection) => {
    rejected += 1
    timer ??= setTimeout(logSum, logIntervalMs).unref()
    if (rejected > maxLinesPerInterval) return
    app.log.info({ ...rejection, status: 503, code: 'unavailable', reason: 'overload' }, 'request')
  }
}

type RouteInfo = { pattern: string; config: FastifyContextConfig }

/**
 * Returns a function that finds the GET route of a URL. It knows the routes that are registered
 * after this call. A route with parameters matches every URL that begins like its fixed part.
 */
function createRouteLookup(app: FastifyInstance): (url: string) => RouteInfo | undefined {
  const fixedRoutes = new Map<string, RouteInfo>()
  const parameterRoutes: (RouteInfo & { prefix: string })[] = []
  app.addHook('onRoute', ({ method, url, config = {} }) => {
    if (method !== 'GET') return
    const [prefix = '', parameters] = url.split(/[:*]/)
    if (parameters === undefined) fixedRoutes.set(url, { pattern: url, config })
    else parameterRoutes.push({ pattern: url, config, prefix })
  })
  return (url) => {
    const queryStart = url.indexOf('?')
    const path = queryStart === -1 ? url : url.slice(0, queryStart)
    return fixedRoutes.get(path) ?? parameterRoutes.find(({ prefix }) => url.startsWith(prefix))
  }
}
