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
  readonly #causes = new Set<string>()

  constructor(log: TaskLog, texts: FailureTexts) {
    this.#log = log
    this.#texts = texts
  }

  isFailing(): boolean {
    return this.#causes.size > 0
  }

  logFailure(error: unknown): void {
    const cause = describeError(error)
    if (this.#causes.has(cause) || this.#causes.size >= maxLoggedCauses) return
    this.#causes.add(cause)
    this.#log.error(this.#texts.failure(cause))
  }

  /** Logs the recovery if the task was failing. */
  logSuccess(): void {
    if (!this.isFailing()) return
    this.#causes.clear()
    this.#log.info(this.#texts.recovery)
  }
}
