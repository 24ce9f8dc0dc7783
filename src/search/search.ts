// Answers searches: from the cache, or else from an engine, from another engine if that fails, and
// then from PostgreSQL. Limits how many searches run at the same time.
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import { searchConnections } from '../database/connection-counts.ts'
import { isPostgresUnavailable } from '../database/failover/broken-connections.ts'
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
import { parseQuery } from '../text/parse-query.ts'
import { CompanyWordsFollower } from '../words/search-words.ts'
import { searchInEngine } from './engine-query.ts'
import { type Ending, type Logger, SearchLog, type SearchObserver } from './metrics-and-log.ts'
import { searchInPostgres } from './postgres.ts'
import { addMeta, ResponseCache, serializeResult, toCacheKey } from './response-cache.ts'
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
  /** Of the request. */
  url: string
  /** Adds the id of the request to each line. */
  logger: Logger
  /** Called before a search in PostgreSQL, with what the log says about the engines. */
  onFallback(logFields: LogFields): void
}

/** A response to a search. `hasHits`: on this page or on another one. */
export type ServiceResponse = {
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

/** What answered a search: an engine, or PostgreSQL. */
type Answer = {
  result: SearchResult
  /** Null: PostgreSQL. */
  engine: WatchedEngine | null
  /** The state of the index before the search: the result contains at least what it says. */
  indexedAt: string | null
  version: string | null
  /** How many engines were tried. */
  attempts: number
  /** Why the first engine did not answer. Undefined unless a second one was tried. */
  failedAttempt: string | undefined
  /** Why the response is degraded. Undefined: it is not. */
  reason: string | undefined
}

export class SearchService {
  readonly #options: SearchServiceOptions
  readonly #log: SearchLog
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
    const log = new SearchLog(logger)
    const companyWords = new CompanyWordsFollower(db, log.companyWords)
    this.#options = options
    this.#log = log
    this.#cache = new ResponseCache(cacheBytes, engines.length)
    this.#companyWords = companyWords
    this.#selection = new EngineSelection({
      db,
      engines,
      indexName,
      onAvailabilityChange: (engineName, isAvailable, error) => {
        observer.setEngineAvailable(engineName, isAvailable)
        log.logAvailability(engineName, isAvailable, error)
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
    const key = this.#cache.findKey(url)
    if (key !== undefined && this.#findCached(key)) return true
    const usesFallback = !/[?&]sku=/.test(url) && !this.#selection.hasHealthyEngine()
    return (usesFallback ? this.#fallbackLimit : this.#limit).hasCapacity()
  }

  /**
   * Returns the response to a search. Null if the client has disconnected. Throws an `unavailable`
   * problem if there is no capacity, or if neither an engine nor PostgreSQL answers.
   */
  async search(request: SearchRequest, context: SearchContext): Promise<ServiceResponse | null> {
    const { observer } = this.#options
    // Read once, so that the key and the search use the same words.
    const companyWords = this.#companyWords.current()
    const key = toCacheKey(request, companyWords.version)
    const cached = this.#findCached(key)
    if (cached) {
      this.#cache.rememberKey(context.url, key)
      observer.countResponse('cache')
      return cached
    }
    const answer = await this.#run(() =>
      this.#find({ ...request, query: parseQuery(request.text, companyWords) }, context),
    )
    const source = answer?.engine ? 'index' : 'database'
    observer.countResponse(answer ? source : 'cancelled')
    if (!answer) return null

    const { engine, version, indexedAt, reason } = answer
    const result = serializeResult(request, answer.result)
    const isDegraded = reason !== undefined
    if (isDegraded) observer.countDegraded()
    // Not if the index has changed since the search began.
    else if (engine && version === engine.getLastKnownState().version)
      this.#cache.set(engine.registrationName, version, key, result)
    const meta: SearchMeta = { source, degraded: isDegraded, indexedAt }
    const logFields = toLogFields(answer)
    return { json: addMeta(result, meta), hasHits: result.hasHits, isDegraded, logFields }
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
  #findCached(key: string): ServiceResponse | null {
    for (const engine of this.#selection.listCacheable()) {
      const { version, indexedAt } = engine.getLastKnownState()
      const result = this.#cache.get(engine.registrationName, version, key)
      if (!result) continue
      const json = addMeta(result, { source: 'index', degraded: false, indexedAt })
      const logFields = { source: 'cache', engine: engine.engineName }
      return { json, hasHits: result.hasHits, isDegraded: false, logFields }
    }
    return null
  }

  /** Searches in one engine after the other, and then in PostgreSQL. */
  async #find(request: ParsedRequest, context: SearchContext): Promise<Answer | null> {
    const { disconnected, logger } = context
    const failures: (string | undefined)[] = []
    // Selected after the wait for capacity, during which a circuit breaker may have opened.
    for (const watched of this.#selection.select().slice(0, maxEngines)) {
      if (disconnected.aborted) return null
      const { indexedAt, version } = watched.getLastKnownState()
      const { ending, result } = await this.#searchInEngine(watched, request, disconnected, logger)
      if (ending === 'cancelled') return null
      const answer = { indexedAt, version, attempts: failures.length + 1 }
      if (result)
        return {
          ...answer,
          result,
          engine: watched,
          failedAttempt: failures.at(-1),
          reason: reasons[ending],
        }
      failures.push(reasons[ending])
      // A rejection is usually a defect of this service, so another engine would reject it too. If
      // only one index has wrong settings, PostgreSQL answers meanwhile.
      if (ending === 'rejected' || ending === 'defect') break
    }
    const fallback = {
      engine: null,
      indexedAt: this.#selection.findNewestIndexedAt(),
      version: null,
      attempts: failures.length,
      failedAttempt: failures.at(-2),
      reason: failures.at(-1) ?? 'no engine available',
    }
    const { source: _, ...logFields } = toLogFields(fallback)
    context.onFallback(logFields)
    const result = await this.#searchInPostgres(request, disconnected, failures.length)
    return result && { ...fallback, result }
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
    const { indexName, observer } = this.#options
    const signal = AbortSignal.any([disconnected, AbortSignal.timeout(engineTimeout.ms)])
    const { result, error } = await searchInEngine(engine, indexName, request, signal).catch(
      (error: unknown) => ({ result: undefined, error }),
    )
    const ending = disconnected.aborted
      ? 'cancelled'
      : error === undefined
        ? 'answered'
        : error instanceof EngineFailure
          ? error.outcome
          : 'defect'
    observer.countEngineAttempt(engineName, ending)
    if (ending === 'defect') this.#log.logDefect(logger, error)
    if (ending === 'rejected') this.#log.logRejection(logger, engineName, error)
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

function toLogFields(answer: Omit<Answer, 'result'>): LogFields {
  const { engine, attempts, failedAttempt, reason } = answer
  return {
    source: engine ? 'index' : 'database',
    attempts,
    ...(engine && { engine: engine.engineName }),
    ...(failedAttempt !== undefined && { failedAttempt }),
    ...(reason !== undefined && { degraded: true, reason }),
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
