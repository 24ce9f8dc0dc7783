// Work that the indexer does besides indexing, at intervals, and errors on which nothing depends.
import type { IndexerState, RegularJob } from '../monitoring/indexer-state.ts'
import { FailureLog, type FailureTexts } from '../monitoring/log/failure-log.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'

// Changes come first, but may never end. One job then runs after each batch.
export const maxJobDelay = { ms: 5_000 }

/** Work that is done once in each interval. It is due at once. */
export class IntervalJob {
  readonly #intervalMs: number
  readonly #work: () => unknown
  #dueAtMs = performance.now()

  constructor(intervalMs: number, work: () => unknown) {
    this.#intervalMs = intervalMs
    this.#work = work
  }

  isDue(): boolean {
    return performance.now() >= this.#dueAtMs
  }

  /** Whether it has been due for so long that it no longer waits until no change is pending. */
  isOverdue(): boolean {
    return performance.now() >= this.#dueAtMs + maxJobDelay.ms
  }

  /** Begins the next interval, and does the work. */
  async run(): Promise<void> {
    this.#dueAtMs = performance.now() + this.#intervalMs
    await this.#work()
  }
}

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
