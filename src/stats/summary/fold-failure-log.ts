// Logs that folding fails, once for each cause, and that it works again.
import { describeError } from '../../monitoring/describe-error.ts'

export type FoldLog = { error(text: string): void; info(text: string): void }

/** A message may differ at each failure, and folding is repeated every second. */
const maxLoggedCauses = 10

export class FoldFailureLog {
  readonly #log: FoldLog
  readonly #causes = new Set<string>()

  constructor(log: FoldLog) {
    this.#log = log
  }

  isFailing(): boolean {
    return this.#causes.size > 0
  }

  logFailure(error: unknown): void {
    const cause = describeError(error)
    if (this.#causes.has(cause) || this.#causes.size >= maxLoggedCauses) return
    this.#causes.add(cause)
    this.#log.error(
      `Changes of quotes cannot be folded into the statistics summary (${cause}): ` +
        'statistics become slower with every change',
    )
  }

  logRecovery(): void {
    this.#causes.clear()
    this.#log.info('Changes of quotes are folded into the statistics summary again')
  }
}
