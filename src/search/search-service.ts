// Answers searches from the cache, or else from an engine or PostgreSQL (search-with-fallback.ts).
// Limits how many searches run at the same time.
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import { searchConnections } from '../database/connection-counts.ts'
import type { Tables } from '../database/table-types.ts'
import { Problem } from '../http/problem-details.ts'
import type { LogFields } from '../http/request-log.ts'
import {
  ConcurrencyLimit,
  maxQueuedFallbacks,
  maxQueuedSearches,
  maxRunningSearches,
} from '../overload/concurrency-limit.ts'
import type { SharedPolling } from '../redis/shared-polling.ts'
import { EngineSelection, type RegisteredEngine } from '../search-engine/engine-selection.ts'
import { parseQuery } from '../text/parse-query.ts'
import { CompanyWordsFollower } from '../words/company-words-follower.ts'
import { type Logger, SearchLog, type SearchObserver } from './metrics-and-log.ts'
import { isSkuLookUp, parseSearchUrl } from './query-parameters.ts'
import { RelaxationForecast } from './relaxation/relaxation-forecast.ts'
import { RelaxationQueue } from './relaxation/relaxation-queue.ts'
import {
  addMeta,
  ResponseCache,
  type SerializedResult,
  serializeResult,
  toCacheKey,
} from './response-cache.ts'
import type { SearchMeta, SearchRequest } from './schema.ts'
import {
  type SearchAnswer,
  type SearchContext,
  type SearchResources,
  searchWithFallback,
  toSearchProblem,
} from './search-with-fallback.ts'
import { lookUpSkus, toSkuResponse } from './sku-lookup.ts'

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
  /** Shares readings of the states of the indexes with other processes. */
  sharedStates?: SharedPolling
}

/** A response to a search. `hasHits`: on this page or on another one. */
export type ServiceResponse = {
  json: string
  hasHits: boolean
  isDegraded: boolean
  logFields: LogFields
}

export class SearchService {
  /** The general pool. */
  readonly #db: Kysely<Tables>
  readonly #observer: SearchObserver
  readonly #selection: EngineSelection
  readonly #cache: ResponseCache
  readonly #companyWords: CompanyWordsFollower
  readonly #limit = new ConcurrencyLimit({
    maxRunning: maxRunningSearches,
    maxQueued: maxQueuedSearches,
  })
  readonly #resources: SearchResources

  /** Starts to watch the engines. Stop it with `stop()`. */
  constructor(options: SearchServiceOptions, logger: Logger) {
    const { db, searchPool, engines, indexName, cacheBytes, observer, sharedStates } = options
    const log = new SearchLog(logger)
    const companyWords = new CompanyWordsFollower(db, (error) => log.logWordsFailure(error))
    this.#db = db
    this.#observer = observer
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
      indexUseLog: log.indexUse,
      ...(sharedStates && { sharedStates }),
    })
    for (const { engineName } of this.#selection.engines)
      observer.setEngineAvailable(engineName, true)
    this.#resources = {
      engineSearch: {
        indexName,
        relaxationQueue: new RelaxationQueue(),
        relaxationForecast: new RelaxationForecast(),
      },
      database: { db, pool: searchPool },
      fallbackLimit: new ConcurrencyLimit({
        maxRunning: searchConnections,
        maxQueued: maxQueuedFallbacks,
      }),
      observer,
      log,
    }
  }

  stop(): Promise<void> {
    return this.#selection.stop()
  }

  /**
   * Returns whether a request for this URL can be answered now or after a short wait.
   *
   * A cached response needs no capacity. Every other search and look-up counts towards the limit of
   * the process. A search in PostgreSQL also counts towards `fallbackLimit`, which is smaller. So
   * while no engine is healthy, `fallbackLimit` decides for searches. A look-up of exact SKUs uses
   * the general pool, so the limit of the process always decides for it.
   */
  checkCapacity(url: string): boolean {
    // The states of the indexes are not polled while no search arrives. A search resumes it, and a
    // look-up does not.
    const usesFallback = !isSkuLookUp(url) && !this.#selection.resumePollingAndCheckHealth()
    const limit = usesFallback ? this.#resources.fallbackLimit : this.#limit
    return limit.hasCapacity() || this.#isCached(url)
  }

  /**
   * Returns the response to a search, from the cache if it can. Null if the client has
   * disconnected. Throws an `unavailable` problem if there is no capacity, or if neither an engine
   * nor PostgreSQL answers.
   */
  async search(request: SearchRequest, context: SearchContext): Promise<ServiceResponse | null> {
    // Read once, so that the key and the search use the same words.
    const companyWords = this.#companyWords.current()
    const key = toCacheKey(request, companyWords.version)
    const cached = this.#findCachedResponse(key)
    if (cached) {
      this.#observer.countResponse('cache')
      return cached
    }
    const answer = await this.#run(() => {
      const parsed = { ...request, query: parseQuery(request.text, companyWords) }
      // Selected after the wait for capacity, during which a circuit breaker may have opened.
      const engines = this.#selection.select()
      return searchWithFallback(this.#resources, engines, parsed, context)
    })
    this.#observer.countResponse(answer?.source ?? 'cancelled')
    if (!answer) return null

    const result = serializeResult(request, answer.result)
    if (answer.degradedReason !== null) this.#observer.countDegraded()
    else if (answer.source === 'index') {
      const { engine, indexState } = answer
      const currentVersion = engine.getLastKnownState().version
      const versions = { version: indexState.version, currentVersion }
      this.#cache.set(engine.registrationName, versions, key, result)
    }
    return this.#toServiceResponse(answer, result)
  }

  /**
   * Returns the products with these exact SKUs as JSON, from PostgreSQL. Throws an `unavailable`
   * problem if there is no capacity or PostgreSQL does not answer.
   */
  async lookUp(skus: string[]): Promise<string> {
    // A look-up uses the general pool, not the search pool.
    const products = await this.#run(() =>
      lookUpSkus(this.#db, skus).catch((cause: unknown) => {
        throw toSearchProblem(cause)
      }),
    )
    this.#observer.countResponse('database')
    return JSON.stringify(toSkuResponse(products))
  }

  /** Runs a search within the concurrency limit, and counts it if it fails. */
  async #run<Answer>(search: () => Promise<Answer>): Promise<Answer> {
    try {
      return await this.#limit.run(search)
    } catch (error) {
      const isUnavailable = error instanceof Problem && error.code === 'unavailable'
      this.#observer.countResponse(isUnavailable ? 'unavailable' : 'failed')
      throw error
    }
  }

  /** Returns the response with the cached result of an engine. Null if no engine has one. */
  #findCachedResponse(key: string): ServiceResponse | null {
    for (const engine of this.#selection.listCacheable()) {
      const { registrationName, engineName } = engine
      const { version, indexedAt } = engine.getLastKnownState()
      const result = this.#cache.get(registrationName, version, key)
      if (!result) continue
      const meta: SearchMeta = { source: 'index', degraded: false, indexedAt }
      return toResponse(result, meta, { source: 'cache', engine: engineName })
    }
    return null
  }

  /** Returns the response with what an engine or PostgreSQL has found. */
  #toServiceResponse(answer: SearchAnswer, result: SerializedResult): ServiceResponse {
    const { source, degradedReason: reason, attempts, failedAttempt } = answer
    // In a response from PostgreSQL, `indexedAt` is that of the newest index, although that index
    // did not answer.
    const indexedAt =
      answer.source === 'index'
        ? answer.indexState.indexedAt
        : this.#selection.findNewestIndexedAt()
    const meta: SearchMeta = { source, degraded: reason !== null, indexedAt }
    if (answer.result.facetsOmitted) meta.facetsOmitted = true
    const logFields: LogFields = { source, attempts }
    if (answer.source === 'index') logFields.engine = answer.engine.engineName
    if (failedAttempt !== null) logFields.failedAttempt = failedAttempt
    if (reason !== null) {
      logFields.degraded = true
      logFields.reason = reason
    }
    return toResponse(result, meta, logFields)
  }

  #isCached(url: string): boolean {
    const request = parseSearchUrl(url)
    if (request === null) return false
    const key = toCacheKey(request, this.#companyWords.current().version)
    return this.#findCachedResponse(key) !== null
  }
}

function toResponse(
  result: SerializedResult,
  meta: SearchMeta,
  logFields: LogFields,
): ServiceResponse {
  const { degraded: isDegraded } = meta
  return { json: addMeta(result, meta), hasHits: result.hasHits, isDegraded, logFields }
}
