// What searches count in metrics, and what they log. The log also has a line for each HTTP request,
// which src/http/request-log.ts writes.
import { describeError } from '../monitoring/describe-error.ts'
import { FailureLog, RepetitionFilter, type TaskLog } from '../monitoring/log/failure-log.ts'
import type { FailedOutcome } from '../search-engine/client.ts'

// Every keystroke of every caller may meet the same failure.
const failureLogInterval = { ms: 60_000 }

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

/** Logs that the words of the company cannot be read: a warning, because searches are answered. */
export function createWordsLog(logger: Logger): FailureLog {
  const warnings: TaskLog = {
    error: (text) => logger.warn({}, text),
    info: (text) => logger.info({}, text),
  }
  return new FailureLog(warnings, {
    failure: (cause) =>
      `The words of the company cannot be read (${cause}): search uses the last known ones`,
    recovery: 'The words that the company has set can be read again',
  })
}

/** Logs that an engine became unavailable, with the error, or available again. */
export function logAvailability(
  logger: Logger,
  engine: string,
  isAvailable: boolean,
  err: unknown,
): void {
  if (isAvailable) logger.info({ engine }, 'search engine available again')
  else
    logger.warn({ engine, err }, 'search engine unavailable; another engine or PostgreSQL answers')
}

/** Logs endings that only a defect of this service explains. Metrics count all of them. */
export class SearchFailureLog {
  readonly #failures = new RepetitionFilter(failureLogInterval)

  /** `logger` is that of the HTTP request. */
  log(logger: Logger, ending: Ending, engine: string, err: unknown): void {
    if (ending !== 'rejected' && ending !== 'defect') return
    // A rejection says what was searched, so its message is no key.
    const key = ending === 'rejected' ? `rejected ${engine}` : describeError(err)
    const alsoFailed = this.#failures.recordError(key)
    if (alsoFailed === null) return
    const message =
      ending === 'rejected'
        ? 'search engine rejected a search as invalid'
        : 'a search in the engine failed because of a defect of this service'
    logger.error({ engine, err, alsoFailed }, message)
  }
}
