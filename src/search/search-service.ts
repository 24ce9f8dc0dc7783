// Searches in the cache, an engine or PostgreSQL. Limits how many searches run at the same time.
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import { searchConnections } from '../database/connection-counts.ts'
import type { Tables } from '../database/table-types.ts'
import type { LogFields } from '../http/request-log.ts'
import {
  ConcurrencyLimit,
  maxQueuedFallbacks,
  maxQueuedSearches,
  maxRunningSearches,
} from '../overload/concurrency-limit.ts'
import type { SharedPolling } from '../redis/shared-polling.ts'
import type { EngineObserver } from '../search-engine/engine-failover.ts'
import {
  type EngineCandidate,
  type EngineSelection,
  type RegisteredEngine,
  watchEngines,
} from '../search-engine/engine-selection.ts'
import type { SearchEngine } from '../search-engine/search-client.ts'
import { timeouts } from '../timeouts.ts'
import { FollowedWords } from '../words/follow-words.ts'
import type { SearchWords } from '../words/search-words.ts'
import type { SearchDatabase } from './fallback/search-in-postgres.ts'
import { parseSearchUrl, toCacheKey } from './query/query-parameters.ts'
import { RelaxationQueue } from './query/relaxation-queue.ts'
import { WordMatches } from './query/word-matches.ts'
import { ResponseCache } from './response-cache.ts'
import { assembleResponse, type SerializedResult, serializeResult } from './response-json.ts'
import type { SearchRequest } from './schema.ts'
import type { SearchLog } from './search-log.ts'
import {
  createUnavailable,
  type SearchOutcome,
  searchWithFallback,
} from './search-with-fallback.ts'
import { lookUpSkus, toSkuResponse } from './sku-lookup.ts'

/** Counts what answered each search and how each request to an engine ended. */
export type SearchObserver = {
  /**
   * `cancelled`: the client disconnected before the search ended. `unavailable`: neither an engine
   * nor PostgreSQL answered, or there was no capacity.
   */
  countResponse(source: 'cache' | 'index' | 'database' | 'cancelled' | 'unavailable'): void
  /**
   * Called for a response from the index that may lack products, because the engine was too slow.
   */
  countIncomplete(): void
  countEngineRequest: EngineObserver['countRequest']
  setEngineAvailable(engineName: string, isAvailable: boolean): void
}

export type SearchServiceOptions = {
  db: Kysely<Tables>
  /** A pool only for searches in PostgreSQL. */
  searchPool: Pool
  /** Searches are distributed over the healthy engines. */
  engines: [RegisteredEngine, ...RegisteredEngine[]]
  indexName: string
  /** The size of the response cache; 0 disables it. */
  cacheBytes: number
  observer: SearchObserver
  log: SearchLog
  /** Shares readings of the states of the indexes with other processes. */
  sharedStates?: SharedPolling
}

/** `hasHits` is present only if a search engine answered completely. */
export type ServiceResponse = { json: string; hasHits?: boolean; logFields: LogFields }

type OutcomeFrom<Source> = Extract<SearchOutcome, { source: Source }>

const fromCache: LogFields = { source: 'cache' }
const fromIndex: LogFields = { source: 'index' }

export class SearchService {
  readonly #database: SearchDatabase
  readonly #fallbackLimit = new ConcurrencyLimit({
    maxRunning: searchConnections,
    maxQueued: maxQueuedFallbacks,
  })
  readonly #indexName: string
  readonly #observer: SearchObserver
  readonly #engineObserver: EngineObserver
  readonly #selection: EngineSelection
  readonly #cache: ResponseCache
  readonly #words: FollowedWords
  readonly #relaxations = new RelaxationQueue()
  readonly #wordMatches = new WordMatches()
  readonly #limit = new ConcurrencyLimit({
    maxRunning: maxRunningSearches,
    maxQueued: maxQueuedSearches,
  })

  /** Starts to watch the engines. Stop it with `stop()`. */
  constructor(options: SearchServiceOptions) {
    const { db, searchPool, engines, indexName, cacheBytes, observer, log, sharedStates } = options
    this.#database = { db, pool: searchPool }
    this.#indexName = indexName
    this.#observer = observer
    this.#cache = new ResponseCache(cacheBytes, engines.length)
    const words = new FollowedWords(db, (error) => log.logWordsFailure(error))
    this.#words = words
    this.#selection = watchEngines({
      db,
      engines,
      probe: (engine) => probeEngine(engine, indexName),
      onAvailabilityChange: (name, isAvailable, error) => {
        observer.setEngineAvailable(name, isAvailable)
        log.logAvailability(name, isAvailable, error)
      },
      onWordsVersion: (version) => words.notice(version),
      ...(sharedStates && { shared: sharedStates }),
    })
    for (const { label } of this.#selection.candidates) observer.setEngineAvailable(label, true)
    this.#engineObserver = {
      countRequest: (name, outcome) => observer.countEngineRequest(name, outcome),
      reportRejection: (name, error) => log.logRejection(name, error),
    }
  }

  stop(): void {
    this.#selection.stop()
  }

  /**
   * Whether a request for this URL can be answered now or after a short wait. A cached response
   * needs no capacity.
   */
  hasCapacity(url: string): boolean {
    const isEngineHealthy = this.#selection.candidates.some(({ breaker }) => !breaker.isOpen)
    const limit = isEngineHealthy ? this.#limit : this.#fallbackLimit
    return limit.hasCapacity() || this.#isCached(url)
  }

  /**
   * Returns the response to a search. `disconnected` aborts when the client disconnects. Throws an
   * `unavailable` problem if there is no capacity, or if neither an engine nor PostgreSQL answers.
   */
  async search(request: SearchRequest, disconnected: AbortSignal): Promise<ServiceResponse> {
    const words = this.#words.current()
    const key = toVersionedKey(words, request)
    const engines = this.#selection.select()
    // While every engine is down, the cached responses of the first one are still valid.
    const cached = this.#readCache(engines[0] ?? this.#selection.candidates[0], key)
    if (cached !== undefined) return cached
    const outcome = await this.#run(() =>
      this.#searchUncached(request, words, engines, disconnected),
    )
    this.#observer.countResponse(outcome.source)
    if (outcome.source === 'cancelled') return { json: '', logFields: { source: 'cancelled' } }
    const result = serializeResult(request, outcome.result)
    return outcome.source === 'database'
      ? this.#toDatabaseResponse(result, outcome)
      : this.#toIndexResponse(result, outcome, key)
  }

  /**
   * Returns the products with these exact SKUs as JSON, from PostgreSQL. Throws an `unavailable`
   * problem if there is no capacity or PostgreSQL does not answer.
   */
  async lookUp(skus: string[]): Promise<string> {
    const products = await this.#run(() =>
      lookUpSkus(this.#database.db, skus).catch((cause: unknown) => {
        throw createUnavailable(cause)
      }),
    )
    this.#observer.countResponse('database')
    return JSON.stringify(toSkuResponse(products))
  }

  #searchUncached(
    request: SearchRequest,
    words: SearchWords,
    engines: EngineCandidate[],
    disconnected: AbortSignal,
  ): Promise<SearchOutcome> {
    return searchWithFallback({
      database: this.#database,
      fallbackLimit: this.#fallbackLimit,
      engines,
      indexName: this.#indexName,
      relaxations: this.#relaxations,
      wordMatches: this.#wordMatches,
      request,
      companyWords: words,
      disconnected,
      observer: this.#engineObserver,
    })
  }

  #toDatabaseResponse(
    serialized: SerializedResult,
    { result, reason }: OutcomeFrom<'database'>,
  ): ServiceResponse {
    const [first] = this.#selection.candidates
    const { indexedAt } = first.readState()
    const json = assembleResponse(serialized, {
      source: 'database',
      degraded: true,
      indexedAt,
      ...(result.facetsOmitted && { facetsOmitted: true }),
    })
    return { json, logFields: { source: 'database', degraded: true, reason } }
  }

  /** Caches the result if it is complete. */
  #toIndexResponse(
    serialized: SerializedResult,
    { registrationName, state, isComplete, reason }: OutcomeFrom<'index'>,
    key: string,
  ): ServiceResponse {
    const { version, indexedAt } = state
    const json = assembleResponse(serialized, { source: 'index', degraded: !isComplete, indexedAt })
    if (!isComplete) {
      this.#observer.countIncomplete()
      return { json, logFields: { source: 'index', degraded: true, reason } }
    }
    this.#cache.set(registrationName, version, key, serialized)
    return { json, hasHits: hasHits(serialized), logFields: fromIndex }
  }

  /** Runs a search within the concurrency limit, and counts it if it fails. */
  async #run<Outcome>(search: () => Promise<Outcome>): Promise<Outcome> {
    try {
      return await this.#limit.run(search)
    } catch (error) {
      this.#observer.countResponse('unavailable')
      throw error
    }
  }

  /** Returns the response with the cached result of this engine. */
  #readCache(engine: EngineCandidate, key: string): ServiceResponse | undefined {
    const { version, indexedAt } = engine.readState()
    const cached = this.#cache.get(engine.registrationName, version, key)
    if (!cached) return undefined
    this.#observer.countResponse('cache')
    const json = assembleResponse(cached, { source: 'index', degraded: false, indexedAt })
    return { json, hasHits: hasHits(cached), logFields: fromCache }
  }

  #isCached(url: string): boolean {
    const request = parseSearchUrl(url)
    if (request === null) return false
    const key = toVersionedKey(this.#words.current(), request)
    return this.#selection.candidates.some(
      ({ registrationName, readState }) =>
        this.#cache.get(registrationName, readState().version, key) !== undefined,
    )
  }
}

const hasHits = ({ total }: SerializedResult) => total !== '0'

/** The words of the company also decide what a response contains. */
function toVersionedKey({ version }: SearchWords, request: SearchRequest): string {
  return `${version}${toCacheKey(request)}`
}

function probeEngine(engine: SearchEngine, indexName: string): Promise<unknown> {
  return engine.search(
    [{ indexUid: indexName, q: '', limit: 1, attributesToRetrieve: ['id'] }],
    AbortSignal.timeout(timeouts.search.engine.ms),
  )
}
