// Work that the indexer does once in each interval. It is due at once.

export class IntervalTask {
  readonly #intervalMs: number
  readonly #work: () => Promise<unknown>
  #dueAt = Number.NEGATIVE_INFINITY

  constructor(intervalMs: number, work: () => Promise<unknown>) {
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
