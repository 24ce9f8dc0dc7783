// What searches count in metrics, and what they write to the log besides the line of each request.
import { describeError } from '../monitoring/describe-error.ts'
import { FailureLog } from '../monitoring/log/failure-log.ts'
import type { RequestOutcome } from '../search-engine/request-outcome.ts'
import { timeouts } from '../timeouts.ts'

/** Counts what answered each search and how each request to an engine ended. */
export type SearchObserver = {
  /**
   * `cancelled`: the client disconnected before the search ended. `unavailable`: neither an engine
   * nor PostgreSQL answered, or there was no capacity. `failed`: a defect of this service.
   */
  countResponse(
    source: 'cache' | 'index' | 'database' | 'cancelled' | 'unavailable' | 'failed',
  ): void
  /** Called for a response from PostgreSQL, or one from the index that may lack products. */
  countDegraded(): void
  /**
   * Called once for each search that was sent to an engine. `cancelled`: the client disconnected.
   * `defect`: the engine answered, but the code of this service failed.
   */
  countEngineRequest(engineName: string, outcome: RequestOutcome | 'cancelled' | 'defect'): void
  setEngineAvailable(engineName: string, isAvailable: boolean): void
}

export type Logger = Record<'info' | 'warn' | 'error', (values: object, message: string) => void>

/** Bounds the log in an interval (`defectLog`) if every error has a different message. */
const maxLoggedDefects = 10

/**
 * Logs outages of engines, searches that they reject, defects of the service, and failures to read
 * the company's words.
 */
export class SearchLog {
  readonly #logger: Logger
  readonly #useFailures: FailureLog
  readonly #rejections = new Map<string, { loggedAt: number; unlogged: number }>()
  /** When each defect was logged last, by its message. */
  readonly #defectsLoggedAt = new Map<string, number>()

  constructor(logger: Logger) {
    this.#logger = logger
    this.#useFailures = new FailureLog(
      { error: (text) => logger.warn({}, text), info: (text) => logger.info({}, text) },
      {
        failure: (cause) =>
          `The use of the search index cannot be recorded (${cause}). If that lasts, an indexer ` +
          'of a newer release removes the index',
        recovery: 'The use of the search index can be recorded again',
      },
    )
  }

  /** Logs that an engine became unavailable, with the error, or available again. */
  logAvailability(engine: string, isAvailable: boolean, err?: unknown): void {
    if (isAvailable) this.#logger.info({ engine }, 'search engine available again')
    else
      this.#logger.warn(
        { engine, err },
        'search engine unavailable; another engine or PostgreSQL answers',
      )
  }

  /**
   * Logs an error of this service: it has sent a request that is invalid for the engine. A caller
   * may cause one at every keystroke, so this logs at most one per engine and interval
   * (`rejectionLog`); the next line counts those left out.
   */
  logRejection(engine: string, err: unknown): void {
    const now = performance.now()
    const last = this.#rejections.get(engine)
    if (last && now - last.loggedAt < timeouts.searchEngine.rejectionLog.ms) {
      last.unlogged += 1
      return
    }
    this.#rejections.set(engine, { loggedAt: now, unlogged: 0 })
    this.#logger.error(
      { engine, err, alsoRejected: last?.unlogged ?? 0 },
      'search engine rejected a search as invalid',
    )
  }

  /**
   * Logs an error of the code of this service with its stack, once per cause and interval
   * (`defectLog`). Metrics count all of them (`defect` in SearchObserver).
   */
  logDefect(err: unknown): void {
    const cause = describeError(err)
    const now = performance.now()
    for (const [logged, loggedAt] of this.#defectsLoggedAt)
      if (now - loggedAt >= timeouts.search.defectLog.ms) this.#defectsLoggedAt.delete(logged)
    const isFull = this.#defectsLoggedAt.size >= maxLoggedDefects
    if (isFull || this.#defectsLoggedAt.has(cause)) return
    this.#defectsLoggedAt.set(cause, now)
    this.#logger.error({ err }, 'a search in the engine failed because of a defect of this service')
  }

  /**
   * Logs once that the use of the indexes cannot be recorded, and that it can be again. Call it for
   * each attempt, with the error or null.
   */
  logUse(error: unknown): void {
    if (error === null) this.#useFailures.logSuccess()
    else this.#useFailures.logFailure(error)
  }

  logWordsFailure(err: unknown): void {
    this.#logger.warn(
      { err },
      'the words of the company cannot be read; search uses the last known ones',
    )
  }
}
