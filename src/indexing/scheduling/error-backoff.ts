// Decides how long the indexer waits after an error, and which errors it logs.
import type { LogLine } from '../../monitoring/log/program-log.ts'
import { toSentence } from '../../text/to-sentence.ts'
import { timeouts } from '../../timeouts.ts'
import { describeErrorWithAdvice } from '../engine/request-rejection.ts'
import { pause } from './pause.ts'

/** Waits after errors, each time twice as long, up to a limit. Logs a repeated error only once. */
export class ErrorBackoff {
  readonly #log: LogLine
  #pauseMs: number = timeouts.indexing.firstBackoff.ms
  #loggedCause = ''

  constructor(log: LogLine) {
    this.#log = log
  }

  /** Whether an error has occurred since the last reset. */
  get isFailing(): boolean {
    return this.#loggedCause !== ''
  }

  async wait(error: unknown, signal: AbortSignal): Promise<void> {
    const cause = describeErrorWithAdvice(error)
    if (cause !== this.#loggedCause) this.#log(`${toSentence(cause)} Trying again.`, 'warn')
    this.#loggedCause = cause
    await pause(this.#pauseMs, signal)
    this.#pauseMs = Math.min(timeouts.indexing.longestBackoff.ms, this.#pauseMs * 2)
  }

  reset(): void {
    this.#pauseMs = timeouts.indexing.firstBackoff.ms
    this.#loggedCause = ''
  }
}
