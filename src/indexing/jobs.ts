// Work that the indexer does besides indexing, and on whose errors nothing depends.
import type { IndexerState, RegularJob } from '../monitoring/indexer-state.ts'
import { FailureLog, type FailureTexts } from '../monitoring/log/failure-log.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'

/** Work that runs beside the indexer. Its errors are logged and recorded, not thrown. */
export class BackgroundJob {
  readonly #attempt: () => Promise<void>
  /** Null while the work is not running. */
  #running: Promise<void> | null = null

  /** Creates a job that logs each cause of a failure once. Nothing runs before start(). */
  constructor(
    name: RegularJob,
    work: () => Promise<unknown>,
    { state, log, texts }: { state: IndexerState; log: LogLine; texts: FailureTexts },
  ) {
    const failures = new FailureLog({ error: (line) => log(line, 'warn'), info: log }, texts)
    this.#attempt = async () => {
      try {
        await work()
        failures.logSuccess()
        state.jobs.set(name, true)
      } catch (error) {
        failures.logFailure(error)
        state.jobs.set(name, false)
      }
    }
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
}
