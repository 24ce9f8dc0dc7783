// The Meilisearch client with which the API searches. It sends several queries in one request.
import { Pool } from 'undici'
import type { ProductDocument, shownAttributes } from './document-fields.ts'

// A health check must answer before its caller gives up.
const healthMs = 1_000
// A keystroke feels instant up to about a third of a second.
export const engineTimeout = { ms: 300 }
// A search has 300 ms. A reachable engine accepts within milliseconds.
export const engineConnectTimeout = { ms: 250 }
// Shorter than the idle limits of engines and balancers, which close connections too.
export const idleConnectionTimeout = { ms: 4_000 }
/** Further requests wait for one. */
const maxConnections = 128

// How many hits and facet values a search returns and counts, also in PostgreSQL.

/** The number of hits without ?limit=, and the largest ?limit=. */
export const defaultHits = 8
export const maxHits = 50
/** The largest ?offset=. */
export const maxOffset = 1000
/** A search counts at most this many hits. */
export const maxTotal = 1000
/**
 * More hits are listed than counted, because a page at the largest offset has up to 50 more. 50 of
 * these 100 are in reserve: this is a setting of the index, and changing it rebuilds the index.
 */
export const maxListed = maxTotal + 100
/** At most this many values of a facet are counted. */
export const maxFacetValues = 100

export type EngineQuery = {
  indexUid: string
  q: string
  limit?: number
  filter?: string[]
  sort?: string[]
  facets?: string[]
  matchingStrategy?: 'frequency' | 'all'
  attributesToRetrieve: readonly (keyof ProductDocument)[]
  showRankingScoreDetails?: boolean
}

/** `shownAttributes` of a product, and what the engine says about the match. */
export type EngineHit = Pick<ProductDocument, (typeof shownAttributes)[number]> & {
  _rankingScoreDetails?: {
    words?: { matchingWords: number; maxMatchingWords: number }
    typo?: { typoCount: number }
  }
}

export type EngineResult = {
  hits: EngineHit[]
  /** Exact up to `maxListed`, despite its name (test/search/later-pages.test.ts). */
  estimatedTotalHits: number
  facetDistribution?: Record<string, Record<string, number>>
}

export type SearchEngine = {
  /**
   * Sends all queries in one request and returns one result for each, in their order. Throws an
   * `EngineFailure`, or the reason of `signal` if it aborts before its time is over.
   */
  search(queries: EngineQuery[], signal: AbortSignal): Promise<EngineResult[]>
  /** Throws if the engine does not report that it is healthy. */
  health(): Promise<unknown>
  close(): Promise<void>
}

/**
 * - `rejected`: the engine rejected this request as invalid. It answers other requests.
 * - `timeout`: the engine was too slow, or failed at this request (HTTP 429 and 500). It may answer
 *   other requests.
 * - `outage`: no request can succeed: no connection, no index, an invalid key.
 */
export type FailedOutcome = 'rejected' | 'timeout' | 'outage'

export class EngineFailure extends Error {
  readonly outcome: FailedOutcome

  constructor(outcome: FailedOutcome, message: string, options?: ErrorOptions) {
    super(message, options)
    this.outcome = outcome
  }
}

/** Opens a client on keep-alive connections. Close it with `close()`. */
export function openSearchEngine(url: string, apiKey: string): SearchEngine {
  const base = new URL(url)
  const connections = new EngineConnections(base, { authorization: `Bearer ${apiKey}` })
  const prefix = base.pathname.replace(/\/$/, '')

  async function send(...[method, path, body, signal]: Parameters<EngineConnections['send']>) {
    const response = await connections
      .send(method, prefix + path, body, signal)
      .catch((cause: unknown) => {
        if (isTimeout(cause)) throw new EngineFailure('timeout', 'the search engine took too long')
        if (signal.aborted) throw cause
        throw new EngineFailure('outage', 'the search engine cannot be reached', { cause })
      })
    if (response.status !== 200) throw toFailure(response.status, response.body)
    return response.body
  }

  return {
    async search(queries, signal) {
      const body = await send('POST', '/multi-search', JSON.stringify({ queries }), signal)
      const results = parseObject(body)?.results as EngineResult[] | undefined
      // For example, a proxy in front of the engine answered.
      if (results?.length !== queries.length)
        throw new EngineFailure('outage', 'the search engine returned no results')
      return results
    },
    health: () => send('GET', '/health', null, AbortSignal.timeout(healthMs)),
    close: () => connections.close(),
  }
}

/** The message has only the error code of the body, because the whole body repeats the query. */
function toFailure(status: number, body: string): EngineFailure {
  const code = parseObject(body)?.code
  const message = `Meilisearch answered ${status}${typeof code === 'string' ? ` (${code})` : ''}`
  // A request with several queries answers 400 if the index is missing.
  const isOutage = [401, 403, 404].includes(status) || code === 'index_not_found'
  const isRejection = [400, 413, 414].includes(status)
  return new EngineFailure(isOutage ? 'outage' : isRejection ? 'rejected' : 'timeout', message)
}

/** Returns null for what is no JSON, for example of a proxy in front of the engine. */
function parseObject(body: string): Record<string, unknown> | null {
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}

const isTimeout = (error: unknown) => error instanceof Error && error.name === 'TimeoutError'

/** Errors of a connection that the engine closed before it had answered. */
const closedCodes = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']

export class EngineConnections {
  readonly #origin: string
  readonly #headers: Record<string, string>
  #pool: Pool
  #openedAt = performance.now()

  /** Connects to the server of `url` when needed. `headers` are sent with every request. */
  constructor({ origin }: URL, headers: Record<string, string>) {
    this.#origin = origin
    this.#headers = headers
    this.#pool = openPool(origin)
  }

  /**
   * Rejects with a connection error, or with the reason of `signal` when it aborts. An abort also
   * closes the connection, so that the engine can stop working. If the engine closed the connection
   * while it was idle, sends the request once more, which is safe because searches have no side
   * effects.
   *
   * After a timeout, all connections are replaced. If a load balancer or host has dropped them
   * silently, every request on one of them would time out, even while requests on newer ones
   * succeed. A request that was sent before the last replacement replaces nothing.
   */
  async send(
    method: 'GET' | 'POST',
    path: string,
    body: string | null,
    signal: AbortSignal,
  ): Promise<{ status: number; body: string }> {
    const startedAt = performance.now()
    const headers =
      body === null ? this.#headers : { ...this.#headers, 'content-type': 'application/json' }
    const sendOnce = async () => {
      const response = await this.#pool.request({ method, path, body, headers, signal })
      return { status: response.statusCode, body: await response.body.text() }
    }
    const isClosed = (error: unknown) =>
      error instanceof Error && 'code' in error && closedCodes.includes(String(error.code))
    const response = sendOnce().catch((error: unknown) => {
      if (signal.aborted || !isClosed(error)) throw error
      return sendOnce()
    })
    try {
      // A request that waits for a connection notices the abort only when it gets one.
      return await Promise.race([response, untilAborted(signal)])
    } catch (error) {
      if (isTimeout(error) && startedAt >= this.#openedAt) {
        const old = this.#pool
        this.#pool = openPool(this.#origin)
        this.#openedAt = performance.now()
        // It waits for the running requests, which end at their own timeouts.
        void old.close()
      }
      throw error
    }
  }

  /** Closes all connections. Running requests fail. */
  async close(): Promise<void> {
    await this.#pool.destroy()
  }
}

/** Rejects with the reason of the signal when it aborts. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}

function openPool(origin: string): Pool {
  return new Pool(origin, {
    connections: maxConnections,
    connectTimeout: engineConnectTimeout.ms,
    keepAliveTimeout: idleConnectionTimeout.ms,
    keepAliveMaxTimeout: idleConnectionTimeout.ms,
    // Every request has a signal that limits its time.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  })
}
