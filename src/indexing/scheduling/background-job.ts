// Work of the indexer on which nothing depends. It runs beside the indexer, and its errors are
// logged and recorded, not thrown.
import { FailureLog, type FailureTexts } from '../../monitoring/log/failure-log.ts'
import type { LogLine } from '../../monitoring/log/program-log.ts'

export type BackgroundJobOptions = {
  log: LogLine
  /** Called after each attempt. */
  onResult: (succeeded: boolean) => void
}

export class BackgroundJob {
  readonly #work: () => Promise<unknown>
  readonly #onResult: (succeeded: boolean) => void
  readonly #failures: FailureLog
  /** Null while the work is not running. */
  #running: Promise<void> | null = null

  /** Creates a job that logs each cause of a failure once. Nothing runs before start(). */
  constructor(
    work: () => Promise<unknown>,
    { log, onResult }: BackgroundJobOptions,
    texts: FailureTexts,
  ) {
    this.#work = work
    this.#onResult = onResult
    this.#failures = new FailureLog({ error: (line) => log(line, 'warn'), info: log }, texts)
  }

  /** Starts the work, unless it is running. Resolves when it has ended, and never rejects. */
  start(): Promise<void> {
    this.#running ??= this.#attempt().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  /** Waits until the work is not running. */
  async waitUntilIdle(): Promise<void> {
    await this.#running
  }

  async #attempt(): Promise<void> {
    try {
      await this.#work()
      this.#failures.logSuccess()
      this.#onResult(true)
    } catch (error) {
      this.#failures.logFailure(error)
      this.#onResult(false)
    }
  }
}
