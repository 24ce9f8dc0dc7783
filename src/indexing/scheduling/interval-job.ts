// Work that the indexer does once in each interval. It is due at once.

// Changes come first, but may never end. One job then runs after each batch.
export const maxJobDelay = { ms: 5_000 }

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
