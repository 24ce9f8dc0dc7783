// Logs that a background task fails, once per cause, and that it works again.
import { describeError } from '../describe-error.ts'

export type TaskLog = { error(text: string): void; info(text: string): void }
/** What the log says. `cause` is the message of the error. */
export type FailureTexts = { failure(cause: string): string; recovery: string }

/** Bounds the set of causes if every failure has a different message. */
const maxLoggedCauses = 10

export class FailureLog {
  readonly #log: TaskLog
  readonly #texts: FailureTexts
  readonly #quietTime: { ms: number }
  readonly #causes = new Set<string>()
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
    return this.#causes.size > 0
  }

  logFailure(error: unknown): void {
    this.#failedAt = performance.now()
    const cause = describeError(error)
    if (this.#causes.has(cause) || this.#causes.size >= maxLoggedCauses) return
    this.#causes.add(cause)
    this.#log.error(this.#texts.failure(cause))
  }

  /** Logs the recovery if the task was failing, and has not failed for the quiet time. */
  logSuccess(): void {
    if (!this.isFailing()) return
    if (performance.now() - this.#failedAt < this.#quietTime.ms) return
    this.#causes.clear()
    this.#log.info(this.#texts.recovery)
  }
}
