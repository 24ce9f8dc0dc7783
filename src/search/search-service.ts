// Answers searches from the cache, or from the engine or PostgreSQL. Limits how many run at once.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import {
  ConcurrencyLimit,
  maxQueuedSearches,
  maxRunningSearches,
} from '../overload/concurrency-limit.ts'
import {
  type EngineSelection,
  type NamedEngine,
  watchEngines,
} from '../search-engine/engine-selection.ts'
import type { SearchEngine } from '../search-engine/search-client.ts'
import { timeouts } from '../timeouts.ts'
import { AnswerCache } from './answer-cache.ts'
import { assembleAnswer, serializeResult } from './answer-json.ts'
import { searchWithFallback } from './fallback-to-postgres.ts'
import { parseSearchUrl, toCacheKey } from './query/query-parameters.ts'
import type { SearchRequest } from './schema.ts'

/** Receives what answered each search, and whether any engine is available. */
export type SearchObserver = {
  countAnswer(source: 'cache' | 'index' | 'database'): void
  setAvailable(isAvailable: boolean): void
}

export type SearchServiceOptions = {
  db: Kysely<Tables>
  /** Searches are distributed over the healthy engines. */
  engines: [NamedEngine, ...NamedEngine[]]
  indexName: string
  /** The size of the answer cache; 0 disables it. */
  cacheBytes: number
  observer: SearchObserver
  /** Called when an engine becomes unavailable, with the error, or available again. */
  onAvailabilityChange(engineName: string, isAvailable: boolean, error?: unknown): void
}

export class SearchService {
  readonly #db: Kysely<Tables>
  readonly #indexName: string
  readonly #observer: SearchObserver
  readonly #selection: EngineSelection
  readonly #cache: AnswerCache
  readonly #limit = new ConcurrencyLimit({
    maxRunning: maxRunningSearches,
    maxQueued: maxQueuedSearches,
  })

  /** Starts to watch the engines. Stop it with `stop()`. */
  constructor(options: SearchServiceOptions) {
    const { db, engines, indexName, cacheBytes, observer, onAvailabilityChange } = options
    this.#db = db
    this.#indexName = indexName
    this.#observer = observer
    this.#cache = new AnswerCache(cacheBytes, engines.length)
    this.#selection = watchEngines({
      db,
      engines,
      probe: (engine) => probeEngine(engine, indexName),
      onAvailabilityChange: (name, isAvailable, error) => {
        observer.setAvailable(this.#selection.candidates.some(({ breaker }) => !breaker.isOpen()))
        onAvailabilityChange(name, isAvailable, error)
      },
    })
  }

  stop(): void {
    this.#selection.stop()
  }

  /**
   * Whether a request for this URL can be answered now or after a short wait. A cached answer
   * needs no capacity.
   */
  hasCapacity(url: string): boolean {
    return this.#limit.hasCapacity() || this.#isCached(url)
  }

  /**
   * Returns the answer as JSON. `disconnected` aborts when the client disconnects. Throws an
   * `unavailable` problem if there is no capacity, or if neither the engine nor PostgreSQL answers.
   */
  async answer(request: SearchRequest, disconnected: AbortSignal): Promise<string> {
    const key = toCacheKey(request)
    const engine = this.#selection.select()
    // Read before searching. The index may change meanwhile, and the answer must not claim a
    // version or an instant that is newer than its results.
    const { version, indexedAt } = engine.freshness.current()
    const cached = this.#cache.get(engine.name, version, key)
    if (cached) {
      this.#observer.countAnswer('cache')
      return assembleAnswer(cached, 'index', indexedAt)
    }
    const { result, source } = await this.#limit.run(() =>
      searchWithFallback({
        db: this.#db,
        engine,
        indexName: this.#indexName,
        request,
        disconnected,
      }),
    )
    this.#observer.countAnswer(source)
    const serialized = serializeResult(request, result)
    if (source === 'index') this.#cache.set(engine.name, version, key, serialized)
    return assembleAnswer(serialized, source, indexedAt)
  }

  #isCached(url: string): boolean {
    const request = parseSearchUrl(url)
    if (request === null) return false
    const key = toCacheKey(request)
    return this.#selection.candidates.some(
      ({ name, freshness }) =>
        this.#cache.get(name, freshness.current().version, key) !== undefined,
    )
  }
}

function probeEngine(engine: SearchEngine, indexName: string): Promise<unknown> {
  return engine.search(
    [{ indexUid: indexName, q: '', limit: 1, attributesToRetrieve: ['id'] }],
    AbortSignal.timeout(timeouts.search.engine.ms),
  )
}
