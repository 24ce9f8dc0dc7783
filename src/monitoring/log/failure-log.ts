// Logs what fails again and again only once.
import { describeError } from '../describe-error.ts'

/** Bounds the log if every error has a different key. */
const maxLoggedKeys = 10

/**
 * Decides which of many equal errors are logged: one for each key, or for each key and interval.
 */
export class RepetitionFilter {
  readonly #interval: { ms: number }
  readonly #loggedAt = new Map<string, number>()
  #leftOut = 0

  constructor(interval = { ms: Number.POSITIVE_INFINITY }) {
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

  isEmpty(): boolean {
    return this.#loggedAt.size === 0
  }

  clear(): void {
    this.#loggedAt.clear()
  }
}

export type TaskLog = { error(text: string): void; info(text: string): void }
/** What the log says. `cause` is the message of the error. */
export type FailureTexts = { failure(cause: string): string; recovery: string }

/** Logs that a background task fails, once per cause, and that it works again. */
export class FailureLog {
  readonly #log: TaskLog
  readonly #texts: FailureTexts
  readonly #quietTime: { ms: number }
  readonly #causes = new RepetitionFilter()
  /** By performance.now(). */
  #failedAt = Number.NEGATIVE_INFINITY

  /**
   * A success logs the recovery only if the last failure was at least `quietTime` ago. Pass it if
   * successes and failures can alternate, because each change would be a line.
   */
  constructor(log: TaskLog, texts: FailureTexts, { quietTime = { ms: 0 } } = {}) {
    this.#log = log
    this.#texts = texts
    this.#quietTime = quietTime
  }

  isFailing(): boolean {
    return !this.#causes.isEmpty()
  }

  logFailure(error: unknown): void {
    this.#failedAt = performance.now()
    const cause = describeError(error)
    if (this.#causes.recordError(cause) !== null) this.#log.error(this.#texts.failure(cause))
  }

  /** Logs the recovery if the task was failing, and has not failed for the quiet time. */
  logSuccess(): void {
    if (!this.isFailing()) return
    if (performance.now() - this.#failedAt < this.#quietTime.ms) return
    this.#causes.clear()
    this.#log.info(this.#texts.recovery)
  }
}
