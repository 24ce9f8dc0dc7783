// Work that the indexer does once in each interval. It is due at once.

export class IntervalJob {
  readonly #intervalMs: number
  readonly #work: () => unknown
  #dueAt = Number.NEGATIVE_INFINITY

  constructor(intervalMs: number, work: () => unknown) {
    this.#intervalMs = intervalMs
    this.#work = work
  }

  isDue(): boolean {
    return performance.now() >= this.#dueAt
  }

  /** Begins the next interval, and does the work. */
  async run(): Promise<void> {
    this.#dueAt = performance.now() + this.#intervalMs
    await this.#work()
  }
}
