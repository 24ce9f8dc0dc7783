// Measures the share of the requests of a recent period that timed out.

/** The period is divided into this many parts. When a part is too old, its counts are dropped. */
const parts = 5
/** A single timeout says nothing about the engine. */
const minTimeouts = 2

type Counts = { part: number; requests: number; timeouts: number }

export class TimeoutShare {
  readonly #partMs: number
  #counts: Counts[] = []

  constructor(periodMs: number) {
    this.#partMs = periodMs / parts
  }

  record(isTimeout: boolean): void {
    const part = Math.floor(performance.now() / this.#partMs)
    let counts = this.#counts.at(-1)
    if (counts?.part !== part) {
      counts = { part, requests: 0, timeouts: 0 }
      this.#counts = [...this.#counts.filter((older) => older.part > part - parts), counts]
    }
    counts.requests += 1
    if (isTimeout) counts.timeouts += 1
  }

  /** Whether at least two requests, and more than half of all, timed out in the period. */
  isMajority(): boolean {
    const oldest = Math.floor(performance.now() / this.#partMs) - parts
    let requests = 0
    let timeouts = 0
    for (const counts of this.#counts) {
      if (counts.part <= oldest) continue
      requests += counts.requests
      timeouts += counts.timeouts
    }
    return timeouts >= minTimeouts && 2 * timeouts > requests
  }

  forget(): void {
    this.#counts = []
  }
}
