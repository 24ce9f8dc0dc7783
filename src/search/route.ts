// GET /api/search: product search as people type.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import type { Access } from '../auth/authentication.ts'
import type { Tables } from '../database/table-types.ts'
import { ProblemBody } from '../http/problem-details.ts'
import { crowd } from '../overload/concurrency-limit.ts'
import type { RateLimit } from '../rate-limits/request-rate-limits.ts'
import type { SearchEngine } from '../search-engine/engine-client.ts'
import { type NamedEngine, watchEngines } from '../search-engine/engine-selection.ts'
import { timeouts } from '../timeouts.ts'
import { AnswerCache } from './answer-cache.ts'
import { assembleAnswer, type SerializedResult, serializeResult } from './answer-json.ts'
import { SearchAnswer, SearchQuery } from './schema.ts'
import {
  findMalformedQuery,
  parseSearchUrl,
  requestKey,
  toSearchRequest,
} from './search-request.ts'
import { searchWithFallback } from './search-with-fallback.ts'

export type SearchOptions = {
  db: Kysely<Tables>
  /** Requests are distributed over the healthy engines. */
  engines: [NamedEngine, ...NamedEngine[]]
  indexName: string
  /** The size of the answer cache; 0 disables it. */
  cacheBytes: number
  access: Access
  rateLimit: RateLimit
  observer: SearchObserver
}

/** Receives what answered each search, and whether any engine is available. */
export type SearchObserver = {
  answered(by: 'cache' | 'index' | 'database'): void
  available(isAvailable: boolean): void
}

/** How many searches run at once and how many more wait. */
const concurrency = {
  atOnce: { least: 16, most: 32, first: 24 },
  burst: 64,
  patienceMs: timeouts.overload.queue.ms,
}

export const searchRoutes: FastifyPluginAsyncTypebox<SearchOptions> = async (app, options) => {
  const { db, engines, indexName, cacheBytes, access, rateLimit, observer } = options
  const searches = crowd(concurrency)
  const cache = new AnswerCache(cacheBytes, engines.length)
  const selection = watchEngines({
    db,
    engines,
    probe: (engine) => probeEngine(engine, indexName),
    onAvailabilityChange(name, isAvailable, err) {
      observer.available(selection.candidates.some(({ breaker }) => !breaker.isOpen()))
      if (isAvailable) app.log.info({ engine: name }, 'search engine available again')
      else
        app.log.warn(
          { engine: name, err },
          'search engine unavailable, PostgreSQL or another engine answers',
        )
    },
  })
  app.addHook('onClose', async () => selection.stop())

  app.get(
    '/api/search',
    {
      schema: {
        querystring: SearchQuery,
        response: { 200: SearchAnswer, '4xx': ProblemBody, '5xx': ProblemBody },
      },
      onRequest: access.requireScope('search:read'),
      preParsing: rateLimit,
      preValidation: rejectMalformedQuery,
      config: { opensToPages: true, hasRoom: (url) => searches.hasRoom() || isCached(url) },
    },
    async (request, reply) => {
      const search = toSearchRequest(request.query)
      const key = requestKey(search)
      const engine = selection.select()
      // Read before searching. The index may change meanwhile: then the answer belongs to the old
      // version, and a later instant would be newer than the results.
      const { version, indexedAt } = engine.freshness.current()
      reply.header('cache-control', 'private, no-store')
      const cached = cache.get(engine.name, version, key)
      if (cached) {
        observer.answered('cache')
        return sendAnswer(reply, cached, 'index', indexedAt)
      }
      const disconnected = abortOnDisconnect(reply)
      const { result, source } = await searches.enter(() =>
        searchWithFallback({ db, engine, indexName, request: search, disconnected }),
      )
      observer.answered(source)
      const serialized = serializeResult(search, result)
      if (source === 'index') cache.set(engine.name, version, key, serialized)
      return sendAnswer(reply, serialized, source, indexedAt)
    },
  )

  /** Whether any engine's answer is cached, so that the request needs no capacity. */
  function isCached(url: string): boolean {
    const search = parseSearchUrl(url)
    if (search === null) return false
    const key = requestKey(search)
    return selection.candidates.some(
      ({ name, freshness }) => cache.get(name, freshness.current().version, key) !== undefined,
    )
  }
}

/** Rejects malformed parameters that validation would accept. */
function rejectMalformedQuery(
  request: FastifyRequest,
  _reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  const query = request.query as Record<string, unknown>
  done(findMalformedQuery(request.url, query, request.getValidationFunction('querystring')))
}

function probeEngine(engine: SearchEngine, indexName: string): Promise<unknown> {
  return engine.search(
    [{ indexUid: indexName, q: '', limit: 1, attributesToRetrieve: ['id'] }],
    AbortSignal.timeout(timeouts.search.engine.ms),
  )
}

/** Aborts when the client disconnects before the answer has been sent. */
function abortOnDisconnect(reply: FastifyReply): AbortSignal {
  const disconnect = new AbortController()
  const { raw } = reply
  if (raw.destroyed) disconnect.abort()
  raw.once('close', () => {
    if (!raw.writableFinished) disconnect.abort()
  })
  return disconnect.signal
}

function sendAnswer(
  reply: FastifyReply,
  result: SerializedResult,
  source: SearchAnswer['meta']['source'],
  indexedAt: string | null,
): FastifyReply {
  // A string is sent as it is; the response schema only documents it.
  return reply
    .type('application/json; charset=utf-8')
    .send(assembleAnswer(result, source, indexedAt))
}
