// Answers searches: from the cache, or else from an engine, from another engine if that fails, and
// then from PostgreSQL. Limits how many searches run at the same time.
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import { isPostgresUnavailable } from '../database/failover/broken-connections.ts'
import { searchConnections } from '../database/postgres-pool.ts'
import type { Tables } from '../database/table-types.ts'
import { Problem } from '../http/problem-details.ts'
import type { LogFields } from '../http/request-log.ts'
import {
  ConcurrencyLimit,
  maxQueuedFallbacks,
  maxQueuedSearches,
  maxRunningSearches,
} from '../overload/concurrency-limit.ts'
import { type ProductRow, shownColumns, toProduct } from '../products/fields.ts'
import { EngineFailure, engineTimeout } from '../search-engine/client.ts'
import {
  EngineSelection,
  type RegisteredEngine,
  type WatchedEngine,
} from '../search-engine/engine-selection.ts'
import { type ParsedQuery, parseQuery } from '../text/parse-query.ts'
import { CompanyWordsFollower } from '../words/search-words.ts'
import { searchInEngine } from './engine-query.ts'
import {
  createWordsLog,
  type Ending,
  type Logger,
  logAvailability,
  SearchFailureLog,
  type SearchObserver,
} from './metrics-and-log.ts'
import { correctInPostgres, searchInPostgres } from './postgres.ts'
import { addMeta, ResponseCache, type SerializedResult, serializeResult } from './response-cache.ts'
import type {
  Hit,
  ParsedRequest,
  SearchMeta,
  SearchRequest,
  SearchResponse,
  SearchResult,
} from './schema.ts'

export const searchUnavailable = 'Search is temporarily unavailable. Try again in a moment.'

// The circuit breaker has probed the engine again by then.
const retryAfterMs = 2_000
/** A search tries at most this many engines, so it waits for at most two timeouts. */
const maxEngines = 2

export type SearchServiceOptions = {
  db: Kysely<Tables>
  /** A pool only for searches in PostgreSQL. */
  searchPool: Pool
  /** Searches are distributed over the healthy engines. */
  engines: [RegisteredEngine, ...RegisteredEngine[]]
  indexName: string
  /** The size of the response cache. 0 disables it. */
  cacheBytes: number
  observer: SearchObserver
}

/** What a search needs of the HTTP request that it answers. */
export type SearchContext = {
  /** Aborts when the client disconnects. */
  disconnected: AbortSignal
  /** Of the request. Equal URLs have equal responses. */
  url: string
  /** Adds the id of the request to each line. */
  logger: Logger
  /** Called before a search in PostgreSQL, with what the log says about the engines. */
  onFallback(logFields: LogFields): void
}

/** A response to a search. `hasHits`: on this page or on another one. */
export type ServiceResponse = {
  source: SearchMeta['source']
  json: string
  hasHits: boolean
  isDegraded: boolean
  logFields: LogFields
}

/** The `reason` in the log of a degraded search. docs/architecture.md says when. */
const reasons: Partial<Record<Ending, string>> = {
  rejected: 'engine rejected',
  timeout: 'engine timeout',
  outage: 'engine outage',
  defect: 'internal error',
}

export class SearchService {
  readonly #options: SearchServiceOptions
  readonly #failures = new SearchFailureLog()
  readonly #selection: EngineSelection
  readonly #cache: ResponseCache
  readonly #companyWords: CompanyWordsFollower
  readonly #limit = new ConcurrencyLimit({
    maxRunning: maxRunningSearches,
    maxQueued: maxQueuedSearches,
  })
  /** Limits the searches in PostgreSQL. */
  readonly #fallbackLimit = new ConcurrencyLimit({
    maxRunning: searchConnections,
    maxQueued: maxQueuedFallbacks,
  })

  /** Starts to watch the engines. Stop it with `stop()`. */
  constructor(options: SearchServiceOptions, logger: Logger) {
    const { db, engines, indexName, cacheBytes, observer } = options
    const companyWords = new CompanyWordsFollower(db, createWordsLog(logger))
    this.#options = options
    this.#cache = new ResponseCache(cacheBytes)
    this.#companyWords = companyWords
    this.#selection = new EngineSelection({
      db,
      engines,
      indexName,
      onAvailabilityChange: (engineName, isAvailable, error) => {
        observer.setEngineAvailable(engineName, isAvailable)
        logAvailability(logger, engineName, isAvailable, error)
      },
      onCompanyWordsVersion: (version) => companyWords.notice(version),
    })
    for (const { engineName } of this.#selection.engines)
      observer.setEngineAvailable(engineName, true)
  }

  stop(): Promise<void> {
    return this.#selection.stop()
  }

  /**
   * Returns whether a request for this URL can be answered now or after a short wait. While no
   * engine is healthy, PostgreSQL answers searches, and fewer at the same time. A look-up of exact
   * SKUs uses the general pool. A response that is cached for this URL needs no capacity.
   */
  checkCapacity(url: string): boolean {
    if (this.#findCached(url)) return true
    const usesFallback = !/[?&]sku=/.test(url) && !this.#selection.hasHealthyEngine()
    return (usesFallback ? this.#fallbackLimit : this.#limit).hasCapacity()
  }

  /**
   * Returns the response to a search. Null if the client has disconnected. Throws an `unavailable`
   * problem if there is no capacity, or if neither an engine nor PostgreSQL answers.
   */
  async search(request: SearchRequest, context: SearchContext): Promise<ServiceResponse | null> {
    const { observer } = this.#options
    const cached = this.#findCached(context.url)
    if (cached) {
      observer.countResponse('cache')
      return cached
    }
    const response = await this.#run(() => this.#find(request, context))
    observer.countResponse(response ? response.source : 'cancelled')
    if (response?.isDegraded) observer.countDegraded()
    return response
  }

  /**
   * Returns the products with these exact SKUs as JSON, from PostgreSQL. Throws an `unavailable`
   * problem if there is no capacity or PostgreSQL does not answer.
   */
  async lookUp(skus: string[]): Promise<string> {
    const bySku = await this.#run(() => lookUpSkus(this.#options.db, skus).catch(throwUnavailable))
    this.#options.observer.countResponse('database')
    const response: SearchResponse = {
      query: '',
      hits: [],
      total: new Set(bySku.flatMap((product) => product?.sku ?? [])).size,
      bySku,
      meta: { source: 'database', degraded: false, indexedAt: null },
    }
    return JSON.stringify(response)
  }

  /** Runs a search within the concurrency limit, and counts it if it fails. */
  async #run<Result>(search: () => Promise<Result>): Promise<Result> {
    try {
      return await this.#limit.run(search)
    } catch (error) {
      const isUnavailable = error instanceof Problem && error.code === 'unavailable'
      this.#options.observer.countResponse(isUnavailable ? 'unavailable' : 'failed')
      throw error
    }
  }

  /** Returns the response with the cached result of an engine. Null if no engine has one. */
  #findCached(url: string): ServiceResponse | null {
    const wordsVersion = this.#companyWords.current().version
    for (const {
      registrationName,
      engineName,
      getLastKnownState,
    } of this.#selection.listCacheable()) {
      const { version, indexedAt } = getLastKnownState()
      const result = this.#cache.get({ registrationName, version, wordsVersion }, url)
      if (!result) continue
      const json = addMeta(result, { source: 'index', degraded: false, indexedAt })
      const logFields = { source: 'cache', engine: engineName }
      return { source: 'index', json, hasHits: result.hasHits, isDegraded: false, logFields }
    }
    return null
  }

  /** Searches in one engine after the other, and then in PostgreSQL. */
  async #find(request: SearchRequest, context: SearchContext): Promise<ServiceResponse | null> {
    const { disconnected, logger, url } = context
    // Read once, so that what is cached and the search use the same words.
    const companyWords = this.#companyWords.current()
    const parsed = { ...request, query: parseQuery(request.text, companyWords) }
    const failures: string[] = []
    const listFields = (reason?: string, failedAttempt?: string): LogFields => ({
      ...(failedAttempt !== undefined && { failedAttempt }),
      ...(reason !== undefined && { degraded: true, reason }),
    })
    // Selected after the wait for capacity, during which a circuit breaker may have opened.
    for (const watched of this.#selection.select().slice(0, maxEngines)) {
      if (disconnected.aborted) return null
      const { registrationName, engineName: engine } = watched
      // The state of the index before the search: the result contains at least what it says.
      const { indexedAt, version } = watched.getLastKnownState()
      const { ending, result } = await this.#searchInEngine(watched, parsed, disconnected, logger)
      if (ending === 'cancelled') return null
      const reason = reasons[ending]
      if (result) {
        const response = serializeResult(request, result)
        // Not if the index has changed since the search began.
        if (reason === undefined && version === watched.getLastKnownState().version)
          this.#cache.set(
            { registrationName, version, wordsVersion: companyWords.version },
            url,
            response,
          )
        const attempts = failures.length + 1
        const fields = { engine, attempts, ...listFields(reason, failures.at(-1)) }
        return toResponse(response, 'index', indexedAt, fields)
      }
      failures.push(reason ?? '')
      // A rejection is usually a defect of this service, so another engine would reject it too. If
      // only one index has wrong settings, PostgreSQL answers meanwhile.
      if (ending === 'rejected' || ending === 'defect') break
    }
    const indexedAt = this.#selection.findNewestIndexedAt()
    const reason = failures.at(-1) ?? 'no engine available'
    const fields = { attempts: failures.length, ...listFields(reason, failures.at(-2)) }
    context.onFallback(fields)
    const result = await this.#searchInPostgres(parsed, disconnected, failures.length)
    return result && toResponse(serializeResult(request, result), 'database', indexedAt, fields)
  }

  /**
   * Never throws. All requests end at the time limit, or when `disconnected` aborts. Logs and counts
   * how the search ended, and tells the circuit breaker. A result with a failure lacks what
   * relaxing the query would have found.
   */
  async #searchInEngine(
    { engine, engineName, breaker }: WatchedEngine,
    request: ParsedRequest,
    disconnected: AbortSignal,
    logger: Logger,
  ): Promise<{ ending: Ending; result?: SearchResult }> {
    const { db, searchPool, indexName, observer } = this.#options
    const signal = AbortSignal.any([disconnected, AbortSignal.timeout(engineTimeout.ms)])
    // Without corrections if PostgreSQL is slow or away: the engine has some tolerance of its own.
    const correct = (query: ParsedQuery) =>
      correctInPostgres({ db, pool: searchPool }, query, signal).catch((error: unknown) => {
        signal.throwIfAborted()
        const isSlow = error instanceof Error && error.name === 'TimeoutError'
        if (!isSlow && !isPostgresUnavailable(error))
          this.#failures.log(logger, 'defect', engineName, error)
        return query
      })
    const { result, error } = await searchInEngine(
      engine,
      indexName,
      request,
      signal,
      correct,
    ).catch((error: unknown) => ({ result: undefined, error }))
    const ending = disconnected.aborted
      ? 'cancelled'
      : error === undefined
        ? 'answered'
        : error instanceof EngineFailure
          ? error.outcome
          : 'defect'
    observer.countEngineAttempt(engineName, ending)
    this.#failures.log(logger, ending, engineName, error)
    // Neither says anything about the engine.
    if (ending === 'cancelled' || ending === 'defect') return { ending, ...(result && { result }) }
    // If only relaxing the query took too long, the engine has answered.
    breaker.record(ending === 'timeout' && result ? 'answered' : ending, error)
    return { ending, ...(result && { result }) }
  }

  /** Returns null if the client has disconnected. */
  async #searchInPostgres(
    request: ParsedRequest,
    disconnected: AbortSignal,
    attempts: number,
  ): Promise<SearchResult | null> {
    const { db, searchPool: pool } = this.#options
    // Without an attempt, no engine used up its time limit. So the wait may be longer by that much.
    const extraWaitMs = attempts === 0 ? engineTimeout.ms : 0
    try {
      const search = () => searchInPostgres({ db, pool }, request, disconnected)
      return await this.#fallbackLimit.run(search, { extraWaitMs })
    } catch (cause) {
      if (disconnected.aborted) return null
      return throwUnavailable(cause)
    }
  }
}

function toResponse(
  result: SerializedResult,
  source: SearchMeta['source'],
  indexedAt: string | null,
  fields: LogFields,
): ServiceResponse {
  const isDegraded = fields.degraded === true
  return {
    source,
    json: addMeta(result, { source, degraded: isDegraded, indexedAt }),
    hasHits: result.hasHits,
    isDegraded,
    logFields: { source, ...fields },
  }
}

/**
 * Returns the active product of each SKU, in the order of `skus`. Null: no active product has
 * exactly this SKU.
 */
async function lookUpSkus(db: Kysely<Tables>, skus: string[]): Promise<(Hit | null)[]> {
  const rows = await db
    .selectFrom('products')
    .select(shownColumns)
    .where('sku', 'in', skus)
    .where('active', '=', true)
    .execute()
  const toHit = (row: ProductRow): Hit => ({ ...toProduct(row), highlights: {}, match: 'exact' })
  const products = new Map(rows.map((row) => [row.sku, toHit(row)]))
  return skus.map((sku) => products.get(sku) ?? null)
}

/** Throws an `unavailable` problem if PostgreSQL cannot answer now, otherwise the error itself. */
function throwUnavailable(cause: unknown): never {
  if (!isPostgresUnavailable(cause)) throw cause
  throw new Problem('unavailable', searchUnavailable, {
    headers: { 'retry-after': String(retryAfterMs / 1_000) },
    cause,
  })
}
