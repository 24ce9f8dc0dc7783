// Refusing work before it drowns the process: at the door, before the framework or anything else sees it, so that it costs little, and the rest is
// answered as fast as ever.
import type { IncomingMessage, ServerResponse } from 'node:http'
import underPressure from '@fastify/under-pressure'
import type { FastifyInstance } from 'fastify'
import { readableBy } from '../auth/cors.ts'
import { Problem, problemBody } from '../http/problem-details.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Refused only at so many times the delay at which other paths are. */
    patience?: number
    /** Whether there is room for a request with this address. Asked first of all, before anybody is known: an answer that needs no room has it. */
    hasRoom?: (url: string) => boolean
  }
}

export type SheddingOptions = {
  /** How late the event loop may be on average of half a second; 0: as late as it likes. */
  maxDelayMs: number
  /** What every answer has. */
  headers: Record<string, string>
  requestId(request: IncomingMessage): string
  /** Whether pages of this origin may read a refusal on paths that open to pages. */
  isRegistered(origin: string): Promise<boolean>
  /** Connections are to end. */
  isStopping(): boolean
  /** Told of each refusal, under the pattern of its route. */
  onRefusal(route: string | undefined): void
}

type Route = {
  url: string
  config: { patience?: number; hasRoom?: (url: string) => boolean; opensToPages?: boolean }
}

const sampleEveryMs = 500
const tellEveryMs = 10_000

/**
 * Refuses requests for which their route has no room; and while the event loop is late by more than `maxDelayMs` a share of all, the more, the later
 * it is, so that what is left fits again. Nobody is asked who they are, and nothing is counted against their limits. Register before the routes.
 */
export async function shedLoad(app: FastifyInstance, options: SheddingOptions): Promise<void> {
  const { maxDelayMs, headers, requestId, isRegistered, isStopping, onRefusal } = options
  // It only measures: a limit given to it would be asked about in a hook, behind the framework.
  await app.register(underPressure, { sampleInterval: sampleEveryMs })
  const routeOf = routesOf(app)
  const count = refusalLog(app)
  const always = {
    ...headers,
    ...overloaded.headers,
    'content-type': 'application/problem+json; charset=utf-8',
    'cache-control': 'private, no-store',
  }

  function mustRefuse(request: IncomingMessage, route: Route | undefined): boolean {
    const limit = maxDelayMs * (route?.config.patience ?? 1)
    const delay = limit === 0 ? 0 : app.memoryUsage().eventLoopDelay
    // Preflights cost nothing, and without one a page could not read a refusal.
    if (delay > limit && request.method !== 'OPTIONS' && Math.random() >= limit / delay) return true
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    return isRead && route?.config.hasRoom?.(request.url ?? '') === false
  }

  function refuse(
    request: IncomingMessage,
    response: ServerResponse,
    route: Route | undefined,
  ): void {
    count()
    onRefusal(route?.url)
    const { origin } = request.headers
    const send = (more: Record<string, string>) => {
      const id = requestId(request)
      const body = `${refusalStart}${JSON.stringify(id)}}`
      if (isStopping()) more.connection = 'close'
      response
        .writeHead(503, { ...always, 'x-request-id': id, 'content-length': body.length, ...more })
        .end(body)
    }
    const opensToPages = route?.config.opensToPages === true
    const vary = opensToPages ? { vary: 'Origin' } : {}
    if (!opensToPages || origin === undefined) send(vary)
    else
      isRegistered(origin)
        .catch(() => false)
        .then((registered) => send({ ...vary, ...(registered && readableBy(origin)) }))
  }

  // Requests that are injected do not come in by the door.
  const { server } = app
  const listeners = server.listeners('request') as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[]
  server.removeAllListeners('request')
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const route = routeOf(request.url ?? '')
    if (mustRefuse(request, route)) refuse(request, response, route)
    else for (const listener of listeners) listener(request, response)
  })
}

/** One for all: to make an error costs more than the rest of refusing. */
export const overloaded = new Problem(
  'unavailable',
  'There is more to do at the moment than the service can. Try again in a moment.',
  {
    headers: { 'retry-after': '1' },
    expected: true,
  },
)

/** The body of the same, finished but for the request id, which comes last. All of it is ASCII. */
const refusalStart = JSON.stringify(problemBody(overloaded, '')).slice(0, -'""}'.length)

/** Finds the route of an address among those that are registered from now on: paths as they stand, and patterns by how they begin. */
function routesOf(app: FastifyInstance): (url: string) => Route | undefined {
  const exact = new Map<string, Route>()
  const patterns: (Route & { start: string })[] = []
  app.addHook('onRoute', ({ method, url, config = {} }) => {
    if (method !== 'GET') return
    const [start = '', rest] = url.split(/[:*]/)
    if (rest === undefined) exact.set(url, { url, config })
    else patterns.push({ url, config, start })
  })
  return (url) => {
    const end = url.indexOf('?')
    return (
      exact.get(end === -1 ? url : url.slice(0, end)) ??
      patterns.find(({ start }) => url.startsWith(start))
    )
  }
}

/** A line in the log for all that were refused in ten seconds: one for each would cost more than refusing. */
function refusalLog(app: FastifyInstance): () => void {
  let refused = 0
  let timer: NodeJS.Timeout | undefined
  function tell(): void {
    clearTimeout(timer)
    timer = undefined
    if (refused > 0) app.log.warn({ refused }, 'more came than fits: the rest was refused')
    refused = 0
  }
  app.addHook('onClose', async () => tell())
  return () => {
    refused += 1
    timer ??= setTimeout(tell, tellEveryMs).unref()
  }
}
