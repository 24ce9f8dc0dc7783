// GET /api/search: product search at every keystroke. The engine answers; PostgreSQL only when the engine cannot.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import type { Access } from '../auth/authentication.ts'
import type { Tables } from '../database/table-types.ts'
import { invalidParameter, Problem, ProblemBody } from '../http/problem-details.ts'
import { crowd } from '../overload/concurrency-limit.ts'
import type { RateLimit } from '../rate-limits/request-rate-limits.ts'
import { EngineError } from '../search-engine/engine-client.ts'
import { type Candidate, chooseEngines, type NamedEngine } from './engine-selection.ts'
import { searchDatabase } from './postgres-fallback.ts'
import { type Found, SearchAnswer, SearchQuery, type SearchRequest } from './schema.ts'
import { searchProducts } from './search-products.ts'

export type SearchOptions = {
  db: Kysely<Tables>
  /** The healthy ones are asked in turn. */
  engines: [NamedEngine, ...NamedEngine[]]
  indexName: string
  /** How much of answers is remembered; 0: nothing. */
  memoryBytes: number
  access: Access
  rateLimit: RateLimit
  observer: SearchObserver
}

/** Told who answered each search, and whether the engine is asked at all. */
export type SearchObserver = {
  answered(by: 'memory' | 'index' | 'database'): void
  available(yes: boolean): void
}

/** How long the engine may take before PostgreSQL answers instead. */
const engineTimeoutMs = 300
/** Searches under way at a time, and how many more may wait how long for their turn. */
const crowdOptions = { atOnce: { least: 16, most: 32, first: 24 }, burst: 64, patienceMs: 100 }

export const searchRoutes: FastifyPluginAsyncTypebox<SearchOptions> = async (app, options) => {
  const { db, engines, indexName, memoryBytes, access, rateLimit, observer } = options
  const searching = crowd(crowdOptions)
  const unavailable = new Set<string>()
  const choice = chooseEngines({
    db,
    engines,
    memoryBytes,
    probe: (engine) =>
      engine.search(
        [{ indexUid: indexName, q: '', limit: 1, attributesToRetrieve: ['id'] }],
        AbortSignal.timeout(engineTimeoutMs),
      ),
    onChange(name, open, reason) {
      if (open) unavailable.add(name)
      else unavailable.delete(name)
      observer.available(unavailable.size < engines.length)
      if (open)
        app.log.warn(
          { engine: name, err: reason },
          'search engine unavailable, PostgreSQL or another engine answers',
        )
      else app.log.info({ engine: name }, 'search engine available again')
    },
  })
  app.addHook('onClose', async () => choice.stop())

  app.get(
    '/api/search',
    {
      schema: {
        querystring: SearchQuery,
        response: { 200: SearchAnswer, '4xx': ProblemBody, '5xx': ProblemBody },
      },
      onRequest: access.requireScope('search:read'),
      preParsing: rateLimit,
      preValidation: checkWriting,
      config: { opensToPages: true, hasRoom: (url) => searching.hasRoom() || isRemembered(url) },
    },
    async (request, reply) => {
      const wanted = readRequest(request.query)
      const key = JSON.stringify(wanted)
      const asked = choice.next()
      const { freshness, remembered } = asked
      // As it was before the engine was asked: an answer given while the index changes is remembered under what it no longer is.
      const version = freshness.version()
      reply.header('cache-control', 'private, no-store')
      const known = version === null ? undefined : remembered.read(key, version)
      if (known !== undefined) {
        observer.answered('memory')
        return sendJson(reply, withMeta(known, 'index', freshness.indexedAt()))
      }
      // Also from before: an instant that is learnt meanwhile would claim more than the answer holds.
      const indexedAt = freshness.indexedAt()

      const { found, source } = await searching.enter(() => find(reply, wanted, asked))
      observer.answered(source)
      const { facets, ...body } = found
      const text = JSON.stringify({
        query: wanted.text,
        ...body,
        ...(wanted.facets.length > 0 && { facets }),
      })
      if (source === 'index' && version !== null) remembered.remember(key, version, text)
      return sendJson(reply, withMeta(text, source, indexedAt))
    },
  )

  /** Whether the answer is in memory, so that it needs no room. Asked before the request is validated: what is not as it should be is not there. */
  function isRemembered(url: string): boolean {
    const {
      key: _,
      q = '',
      limit = 8,
      offset = 0,
      ...more
    } = Object.fromEntries(new URLSearchParams(url.split('?')[1]))
    try {
      const key = JSON.stringify(
        readRequest({ q, ...more, limit: Number(limit), offset: Number(offset) }),
      )
      return choice.some(({ freshness, remembered }) => {
        const version = freshness.version()
        return version !== null && remembered.read(key, version) !== undefined
      })
    } catch {
      return false
    }
  }

  /** What the engine finds, else PostgreSQL. */
  async function find(
    reply: FastifyReply,
    wanted: SearchRequest,
    { engine, breaker }: Candidate,
  ): Promise<{ found: Found; source: SearchAnswer['meta']['source'] }> {
    // One signal for both reasons to stop waiting: the client went away, or the engine takes too long.
    const stop = new AbortController()
    const timer = setTimeout(
      () => stop.abort(new Error(`the search engine took more than ${engineTimeoutMs} ms`)),
      engineTimeoutMs,
    )
    // It may have gone while it waited for its turn.
    let gone = reply.raw.destroyed
    if (gone) stop.abort()
    reply.raw.once('close', () => {
      gone = !reply.raw.writableFinished
      if (gone) stop.abort()
    })
    return breaker
      .run(
        () => searchProducts(engine, indexName, wanted, stop.signal),
        (error) => gone || (error instanceof EngineError && error.isOurs),
      )
      .then((found) => ({ found, source: 'index' as const }))
      .catch(async () => ({
        found: gone ? nothing : await askDatabase(db, wanted),
        source: 'database' as const,
      }))
      .finally(() => clearTimeout(timer))
  }
}

/**
 * What validation does not see: percent signs that spell no UTF-8, which would be searched as they stand; and numbers that JavaScript would
 * accept but nobody means, such as 1e1 and 0x10.
 */
function checkWriting(
  request: FastifyRequest,
  _reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  const { url } = request
  const pairs = url.includes('%') ? url.slice(url.indexOf('?') + 1).split('&') : []
  const malformed = pairs.find((pair) => !isWellFormed(pair))
  const query = request.query as Record<string, unknown>
  for (const name of ['limit', 'offset']) {
    const text = query[name]
    if (typeof text === 'string' && !/^-?\d+$/.test(text)) query[name] = Number.NaN
  }
  if (malformed === undefined) done()
  else done(invalidParameter(malformed.split('=')[0] ?? '', 'must be UTF-8, percent-encoded'))
}

function isWellFormed(encoded: string): boolean {
  try {
    decodeURIComponent(encoded)
    return true
  } catch {
    return false
  }
}

/** A client that is gone reads nothing. */
const nothing: Found = { hits: [], total: 0, facets: {} }

/** The answer whole. Its meta is written last, on its own: it moves while the rest may be remembered. */
function withMeta(
  text: string,
  source: SearchAnswer['meta']['source'],
  indexedAt: string | null,
): string {
  const meta: SearchAnswer['meta'] = { source, degraded: source === 'database', indexedAt }
  return `${text.slice(0, -1)},"meta":${JSON.stringify(meta)}}`
}

/** Sends text that is JSON already. */
function sendJson(reply: FastifyReply, text: string): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(text)
}

function readRequest({ q, limit, offset, category, brand, facets }: SearchQuery): SearchRequest {
  // PostgreSQL knows no such character, so that no product can have it.
  for (const [name, value] of Object.entries({ category, brand }))
    if (value?.includes('\u0000'))
      throw invalidParameter(name, 'must not contain the character NUL (%00)')
  return {
    text: readText(q),
    limit,
    offset,
    facets: [...new Set(facets?.split(','))].sort() as SearchRequest['facets'],
    ...(category !== undefined && { category }),
    ...(brand !== undefined && { brand }),
  }
}

const maxCodePoints = 200
const maxBytes = 512

/** q as it is searched: trimmed and NFC, within its bounds. */
function readText(q: string): string {
  const text = q.toWellFormed().normalize('NFC').trim()
  if ([...text].length > maxCodePoints)
    throw invalidParameter('q', `must have at most ${maxCodePoints} characters`)
  if (Buffer.byteLength(text) > maxBytes)
    throw invalidParameter('q', `must have at most ${maxBytes} bytes of UTF-8`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  return text.replace(/[\u0000-\u001f\u007f]/g, ' ').trim()
}

async function askDatabase(db: Kysely<Tables>, wanted: SearchRequest) {
  try {
    return await searchDatabase(db, wanted)
  } catch (cause) {
    throw new Problem(
      'unavailable',
      'Search is not available at the moment. Try again in a moment.',
      {
        headers: { 'retry-after': '2' },
        cause,
      },
    )
  }
}
