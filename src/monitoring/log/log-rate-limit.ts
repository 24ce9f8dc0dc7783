// Limits how many log lines of one kind are written, so that a flood of requests costs little.

// Lines of a flood would cost more than the refusals.
const lineLimitMs = 1_000

const maxLines = 100

export class LogRateLimit {
  #windowEnd = Number.NEGATIVE_INFINITY
  #lines = 0
  #skipped = 0

  /** Returns whether a line may be written now, and counts it. */
  tryAcquire(): boolean {
    const now = performance.now()
    if (now >= this.#windowEnd) {
      this.#windowEnd = now + lineLimitMs
      this.#lines = 0
    }
    this.#lines += 1
    if (this.#lines <= maxLines) return true
    this.#skipped += 1
    return false
  }

  takeSkippedCount(): number {
    const skipped = this.#skipped
    this.#skipped = 0
    return skipped
  }
}
