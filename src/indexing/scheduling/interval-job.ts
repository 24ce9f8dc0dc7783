// Work that the indexer does once in each interval. It is due at once.
import { timeouts } from '../../timeouts.ts'

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
    return performance.now() >= this.#dueAtMs + timeouts.indexing.jobDelay.ms
  }

  /** Begins the next interval, and does the work. */
  async run(): Promise<void> {
    this.#dueAtMs = performance.now() + this.#intervalMs
    await this.#work()
  }
}
