// Decides which of many equal errors are logged: one for each key and interval.

/** Bounds the log in an interval if every error has a different key. */
const maxLoggedKeys = 10

export class RepetitionFilter {
  readonly #interval: { ms: number }
  readonly #loggedAt = new Map<string, number>()
  #leftOut = 0

  constructor(interval: { ms: number }) {
    this.#interval = interval
  }

  /**
   * Records that an error occurred. Returns null if it is to be left out of the log. If it is to be
   * logged, returns how many were left out since the last one that was logged, whatever their keys.
   */
  recordError(key: string): number | null {
    const now = performance.now()
    for (const [logged, loggedAt] of this.#loggedAt)
      if (now - loggedAt >= this.#interval.ms) this.#loggedAt.delete(logged)
    if (this.#loggedAt.has(key) || this.#loggedAt.size >= maxLoggedKeys) {
      this.#leftOut += 1
      return null
    }
    this.#loggedAt.set(key, now)
    const leftOut = this.#leftOut
    this.#leftOut = 0
    return leftOut
  }
}
