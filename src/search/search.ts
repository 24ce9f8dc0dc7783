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
import {
  EngineSelection,
  type RegisteredEngine,
  type WatchedEngine,
} from '../search-engine/engine-selection.ts'
import {
  classifyFailure,
  EngineFailure,
  EngineTimeout,
  type FailedOutcome,
} from '../search-engine/request-outcome.ts'
import { engineTimeout } from '../search-engine/search-client.ts'
import { parseQuery } from '../text/parse-query.ts'
import { CompanyWordsFollower } from '../words/search-words.ts'
import { searchInEngine } from './engine-query.ts'
import { type Logger, SearchLog, type SearchObserver } from './metrics-and-log.ts'
import { searchInPostgres } from './postgres.ts'
import { isSkuLookUp, parseSearchUrl } from './query-parameters.ts'
import {
  addMeta,
  ResponseCache,
  type SerializedResult,
  serializeResult,
  toCacheKey,
} from './response-cache.ts'
import type { ParsedRequest, SearchMeta, SearchRequest, SearchResult } from './schema.ts'
import { lookUpSkus, toSkuResponse } from './sku-lookup.ts'

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

/** How a request to an engine failed. `defect`: the code of this service failed. */
type Failure = FailedOutcome | 'defect'

/** The `reason` in the log of a degraded search. docs/architecture.md says when. */
const reasons: Record<Failure, string> = {
  rejected: 'engine rejected',
  timeout: 'engine timeout',
  outage: 'engine outage',
  defect: 'internal error',
}

/** What an engine has found, or why it failed. Both if only relaxing the query failed. */
type Attempt = { result: SearchResult | null; failure: Failure | null; error?: unknown }

/** What answered a search: an engine, or PostgreSQL. */
type Answer = {
  result: SearchResult
  /** Null: PostgreSQL. */
  engine: WatchedEngine | null
  /** The state of the index before the search: the result contains at least what it says. */
  indexedAt: string | null
  version: string | null
  attempts: number
  /** Why the first engine did not answer. Null unless a second one was tried. */
  failedAttempt: string | null
  /** Why the response is degraded. Null: it is not. */
  reason: string | null
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
   * SKUs uses the general pool. A cached response needs no capacity.
   */
  checkCapacity(url: string): boolean {
    const usesFallback = !isSkuLookUp(url) && !this.#selection.hasHealthyEngine()
    const limit = usesFallback ? this.#fallbackLimit : this.#limit
    return limit.hasCapacity() || this.#isCached(url)
  }

  #isCached(url: string): boolean {
    const request = parseSearchUrl(url)
    if (request === null) return false
    const key = toCacheKey(request, this.#companyWords.current().version)
    return this.#findCachedResponse(key) !== null
  }

  /**
   * Returns the response to a search. Null if the client has disconnected. Throws an `unavailable`
   * problem if there is no capacity, or if neither an engine nor PostgreSQL answers.
   */
  async search(request: SearchRequest, context: SearchContext): Promise<ServiceResponse | null> {
    // Read once, so that the key and the search use the same words.
    const companyWords = this.#companyWords.current()
    const key = toCacheKey(request, companyWords.version)
    const cached = this.#findCachedResponse(key)
    if (cached) {
      this.#options.observer.countResponse('cache')
      return cached
    }
    const answer = await this.#run(() =>
      this.#find({ ...request, query: parseQuery(request.text, companyWords) }, context),
    )
    const source = answer === null ? 'cancelled' : answer.engine ? 'index' : 'database'
    this.#options.observer.countResponse(source)
    if (!answer) return null

    const result = serializeResult(request, answer.result)
    const { engine, version, reason } = answer
    if (reason !== null) this.#options.observer.countDegraded()
    else if (engine)
      this.#cache.set(
        engine.registrationName,
        { version, currentVersion: engine.getLastKnownState().version },
        key,
        result,
      )
    return toServiceResponse(answer, result)
  }

  /**
   * Returns the products with these exact SKUs as JSON, from PostgreSQL. Throws an `unavailable`
   * problem if there is no capacity or PostgreSQL does not answer.
   */
  async lookUp(skus: string[]): Promise<string> {
    // A look-up uses the general pool, not the search pool.
    const products = await this.#run(() =>
      lookUpSkus(this.#options.db, skus).catch((cause: unknown) => {
        throw toSearchProblem(cause)
      }),
    )
    this.#options.observer.countResponse('database')
    return JSON.stringify(toSkuResponse(products))
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

  /** Searches in one engine after the other, and then in PostgreSQL. */
  async #find(request: ParsedRequest, context: SearchContext): Promise<Answer | null> {
    const { disconnected, logger } = context
    // The client may have disconnected while the search waited for capacity.
    if (disconnected.aborted) return null
    const failures: string[] = []
    // Selected after that wait, during which a circuit breaker may have opened.
    for (const watched of this.#selection.select().slice(0, maxEngines)) {
      const { indexedAt, version } = watched.getLastKnownState()
      const attempt = await this.#searchInEngine(watched, request, disconnected)
      this.#report(watched, attempt, disconnected.aborted, logger)
      if (disconnected.aborted) return null
      const { result, failure } = attempt
      const reason = failure === null ? null : reasons[failure]
      if (result) {
        const failedAttempt = failures.at(-1) ?? null
        const attempts = failures.length + 1
        return { result, engine: watched, indexedAt, version, attempts, failedAttempt, reason }
      }
      failures.push(reason ?? reasons.defect)
      // A rejection is usually a defect of this service, so another engine would reject it too. If
      // only one index has wrong settings, PostgreSQL answers meanwhile.
      if (failure === 'rejected' || failure === 'defect') break
    }
    const attempts = failures.length
    const reason = failures.at(-1) ?? 'no engine available'
    const failedAttempt = failures.at(-2) ?? null
    context.onFallback({ attempts, ...(failedAttempt && { failedAttempt }), reason })
    const result = await this.#searchInPostgres(request, disconnected, attempts)
    const indexedAt = this.#selection.findNewestIndexedAt()
    return (
      result && {
        result,
        engine: null,
        indexedAt,
        version: null,
        attempts,
        failedAttempt,
        reason,
      }
    )
  }

  /** Never throws. All requests end at the time limit, or when `disconnected` aborts. */
  async #searchInEngine(
    { engine }: WatchedEngine,
    request: ParsedRequest,
    disconnected: AbortSignal,
  ): Promise<Attempt> {
    const limitMs = engineTimeout.ms
    const controller = new AbortController()
    const abort = () => controller.abort()
    disconnected.addEventListener('abort', abort)
    // Creates the error only at the limit, because its stack trace costs more than the timer.
    const timer = setTimeout(() => controller.abort(new EngineTimeout(limitMs)), limitMs).unref()
    try {
      const { indexName } = this.#options
      const found = await searchInEngine(engine, indexName, request, controller.signal)
      const { result, error } = found
      return error === undefined
        ? { result, failure: null }
        : { result, failure: toFailure(error), error }
    } catch (error) {
      return { result: null, failure: toFailure(error), error }
    } finally {
      clearTimeout(timer)
      disconnected.removeEventListener('abort', abort)
    }
  }

  /** Logs and counts how a search in an engine ended, and tells its circuit breaker. */
  #report(
    { engineName, breaker }: WatchedEngine,
    { result, failure, error }: Attempt,
    isCancelled: boolean,
    logger: Logger,
  ): void {
    const cause = error instanceof EngineFailure ? error.cause : error
    this.#options.observer.countEngineAttempt(
      engineName,
      isCancelled ? 'cancelled' : (failure ?? 'answered'),
    )
    if (failure === 'defect') this.#log.logDefect(logger, cause)
    // The client may have disconnected before the engine received a request or answered it.
    if (isCancelled) return
    if (failure === 'rejected') this.#log.logRejection(logger, engineName, cause)
    // After a defect of this service, nothing is known about the engine. If only relaxing the query
    // took too long, the engine has answered.
    if (failure === 'defect') return
    breaker.record(failure === 'timeout' && result ? 'answered' : (failure ?? 'answered'), cause)
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
      throw toSearchProblem(cause)
    }
  }
}

function toFailure(error: unknown): Failure {
  return error instanceof EngineFailure ? classifyFailure(error.cause) : 'defect'
}

function toServiceResponse(answer: Answer, result: SerializedResult): ServiceResponse {
  const { engine, indexedAt, attempts, failedAttempt, reason } = answer
  const source = engine ? 'index' : 'database'
  const meta: SearchMeta = { source, degraded: reason !== null, indexedAt }
  const logFields: LogFields = { source, attempts }
  if (engine) logFields.engine = engine.engineName
  if (failedAttempt !== null) logFields.failedAttempt = failedAttempt
  if (reason !== null) {
    logFields.degraded = true
    logFields.reason = reason
  }
  return toResponse(result, meta, logFields)
}

function toResponse(
  result: SerializedResult,
  meta: SearchMeta,
  logFields: LogFields,
): ServiceResponse {
  const { degraded: isDegraded } = meta
  return { json: addMeta(result, meta), hasHits: result.hasHits, isDegraded, logFields }
}

/**
 * Returns the problem of a search or a look-up if PostgreSQL cannot answer now, and otherwise the
 * error itself.
 */
function toSearchProblem(cause: unknown): unknown {
  if (!isPostgresUnavailable(cause)) return cause
  const retryAfterSeconds = retryAfterMs / 1_000
  return new Problem('unavailable', searchUnavailable, {
    headers: { 'retry-after': String(retryAfterSeconds) },
    cause,
  })
}
