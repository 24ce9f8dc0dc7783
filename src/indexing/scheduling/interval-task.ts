// Work that the indexer does once in each interval.

export class IntervalTask {
  readonly #intervalMs: number
  readonly #work: () => Promise<unknown>
  #dueAt: number

  /** It is due at once, unless `isDueAtOnce` is false: then the first interval begins now. */
  constructor(intervalMs: number, work: () => Promise<unknown>, { isDueAtOnce = true } = {}) {
    this.#intervalMs = intervalMs
    this.#work = work
    this.#dueAt = isDueAtOnce ? Number.NEGATIVE_INFINITY : performance.now() + intervalMs
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
