// What searches count in metrics, and what they log. The log also has a line for each HTTP request,
// which src/http/request-log.ts writes.
import { describeError } from '../monitoring/describe-error.ts'
import { FailureLog, RepetitionFilter, type TaskLog } from '../monitoring/log/failure-log.ts'
import type { FailedOutcome } from '../search-engine/client.ts'

// One caller may repeat such a search at every keystroke.
const rejectionLogInterval = { ms: 10_000 }
// Every keystroke may meet it, and somebody who looks hours later must still find it.
const defectLogInterval = { ms: 3_600_000 }

/**
 * How a search in an engine ended. `cancelled`: the client disconnected. `defect`: the code of this
 * service failed, before or after the engine was asked.
 */
export type Ending = 'answered' | FailedOutcome | 'cancelled' | 'defect'

/** Counts what answered each search, and how each attempt to search in an engine ended. */
export type SearchObserver = {
  /**
   * Counts one response. The metric is called `tqs_search_answers_total`, although elsewhere an
   * answer is not a response (schema.ts).
   *
   * `database`: also look-ups of exact SKUs, which are not degraded. `cancelled`: the client
   * disconnected before the search ended. `unavailable`: neither an engine nor PostgreSQL answered,
   * or there was no capacity. `failed`: a defect of this service.
   */
  countResponse(
    source: 'cache' | 'index' | 'database' | 'cancelled' | 'unavailable' | 'failed',
  ): void
  /** Called for a response from PostgreSQL, or one from the index that may lack products. */
  countDegraded(): void
  /**
   * Counts one attempt. A search makes one for each engine that it tries. An attempt may send
   * several HTTP requests, although the metric is called `tqs_search_engine_requests_total`.
   */
  countEngineAttempt(engineName: string, ending: Ending): void
  setEngineAvailable(engineName: string, isAvailable: boolean): void
}

/** The logger of the process, or that of a request, which adds its id to each line. */
export type Logger = Record<'info' | 'warn' | 'error', (values: object, message: string) => void>

/**
 * Logs outages of engines, searches that they reject, defects of the service, and failures to read
 * the company's words.
 */
export class SearchLog {
  readonly companyWords: FailureLog
  readonly #logger: Logger
  /** By engine. */
  readonly #rejections = new RepetitionFilter(rejectionLogInterval)
  /** By message. */
  readonly #defects = new RepetitionFilter(defectLogInterval)

  /** `logger` writes what belongs to no request. */
  constructor(logger: Logger) {
    this.#logger = logger
    // A warning, because searches are answered as before.
    const warnings: TaskLog = {
      error: (text) => logger.warn({}, text),
      info: (text) => logger.info({}, text),
    }
    this.companyWords = new FailureLog(warnings, {
      failure: (cause) =>
        `The words of the company cannot be read (${cause}): search uses the last known ones`,
      recovery: 'The words that the company has set can be read again',
    })
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
   * Logs that this service has sent a request that is invalid for the engine. `logger` is that of
   * the HTTP request. `alsoRejected`: rejections of all engines that were not logged before.
   */
  logRejection(logger: Logger, engine: string, err: unknown): void {
    const alsoRejected = this.#rejections.recordError(engine)
    if (alsoRejected === null) return
    logger.error({ engine, err, alsoRejected }, 'search engine rejected a search as invalid')
  }

  /** Logs an error of the code of this service with its stack. Metrics count all of them. */
  logDefect(logger: Logger, err: unknown): void {
    const alsoFailed = this.#defects.recordError(describeError(err))
    if (alsoFailed === null) return
    logger.error(
      { err, alsoFailed },
      'a search in the engine failed because of a defect of this service',
    )
  }
}
