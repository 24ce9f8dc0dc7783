// GET /api/search: product search at every keystroke. The engine answers; PostgreSQL only when the engine cannot.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { Kysely } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Access } from '../access/caller.ts'
import type { RateLimit } from '../access/rate-limits.ts'
import type { Tables } from '../database/tables.ts'
import { invalidParameter, Problem, ProblemBody } from '../problem.ts'
import { breaker } from './breaker.ts'
import { searchDatabase } from './fallback.ts'
import { followFreshness } from './freshness.ts'
import { searchProducts } from './query.ts'
import { SearchAnswer, SearchQuery, type SearchRequest } from './schema.ts'

export type SearchOptions = {
  db: Kysely<Tables>
  engine: Meilisearch
  indexName: string
  engineName: string
  access: Access
  rateLimit: RateLimit
}

/** How long the engine may take before PostgreSQL answers instead. */
const engineTimeoutMs = 300

export const searchRoutes: FastifyPluginAsyncTypebox<SearchOptions> = async (app, options) => {
  const { db, engine, indexName, engineName, access, rateLimit } = options
  const freshness = followFreshness(db, engineName)
  const engineBreaker = breaker(
    () => engine.index(indexName).search('', { limit: 1 }, { signal: AbortSignal.timeout(engineTimeoutMs) }),
    (open, reason) => {
      if (open) app.log.warn({ err: reason }, 'search engine unavailable, PostgreSQL answers')
      else app.log.info('search engine available again')
    },
  )
  app.addHook('onClose', async () => {
    freshness.stop()
    engineBreaker.stop()
  })

  app.get(
    '/api/search',
    {
      schema: { querystring: SearchQuery, response: { 200: SearchAnswer, '4xx': ProblemBody, '5xx': ProblemBody } },
      onRequest: access.requireScope('search:read'),
      config: { rateLimit },
    },
    async (request, reply) => {
      const text = readText(request.query.q)
      const { limit, offset, category, brand } = request.query
      const facets = [...new Set(request.query.facets?.split(','))] as SearchRequest['facets']
      const wanted: SearchRequest = {
        text,
        limit,
        offset,
        facets,
        ...(category !== undefined && { category }),
        ...(brand !== undefined && { brand }),
      }
      const gone = clientGone(reply)
      // Before the engine is asked: an instant that is learnt meanwhile would claim more than the answer holds.
      const indexedAt = freshness.indexedAt()

      const { found, source } = await engineBreaker
        .run(
          () => searchProducts(engine, indexName, wanted, AbortSignal.any([gone, AbortSignal.timeout(engineTimeoutMs)])),
          () => gone.aborted,
        )
        .then((found) => ({ found, source: 'index' as const }))
        .catch(async () => ({ found: await askDatabase(db, wanted), source: 'database' as const }))

      reply.header('cache-control', 'private, no-store')
      return {
        query: text,
        hits: found.hits,
        total: found.total,
        ...(request.query.facets !== undefined && { facets: found.facets }),
        meta: { source, degraded: source === 'database', indexedAt },
      }
    },
  )
}

const maxCodePoints = 200
const maxBytes = 512

/** q as it is searched: trimmed and NFC, within its bounds. */
function readText(q: string): string {
  const text = q.toWellFormed().normalize('NFC').trim()
  if ([...text].length > maxCodePoints) throw invalidParameter('q', `must have at most ${maxCodePoints} characters`)
  if (Buffer.byteLength(text) > maxBytes) throw invalidParameter('q', `must have at most ${maxBytes} bytes of UTF-8`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  return text.replace(/[\u0000-\u001f\u007f]/g, ' ').trim()
}

async function askDatabase(db: Kysely<Tables>, wanted: SearchRequest) {
  try {
    return await searchDatabase(db, wanted)
  } catch (cause) {
    throw new Problem('unavailable', 'Search is not available at the moment. Try again in a moment.', {
      headers: { 'retry-after': '2' },
      cause,
    })
  }
}

/** Ends when the client goes away before it has its answer. */
function clientGone(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort()
  })
  return controller.signal
}
