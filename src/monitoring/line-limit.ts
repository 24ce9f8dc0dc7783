// Limits how many log lines of one kind are written, so that a flood of requests costs little.
import { timeouts } from '../timeouts.ts'

const maxLines = 100

/** Allows 100 lines a second. */
export class LineLimit {
  #windowEnd = Number.NEGATIVE_INFINITY
  #lines = 0
  #unlogged = 0

  /** Whether a line may be written now. If not, it is counted. */
  allows(): boolean {
    const now = performance.now()
    if (now >= this.#windowEnd) {
      this.#windowEnd = now + timeouts.monitoring.lineLimit.ms
      this.#lines = 0
    }
    this.#lines += 1
    if (this.#lines <= maxLines) return true
    this.#unlogged += 1
    return false
  }

  /** Returns how many lines were not written since the last call. */
  takeUnlogged(): number {
    const unlogged = this.#unlogged
    this.#unlogged = 0
    return unlogged
  }
}
