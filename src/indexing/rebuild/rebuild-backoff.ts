// Prevents endless rebuilds for a reason that a rebuild does not remove, such as settings that the
// engine returns in a different form.
import type { LogLine } from '../../monitoring/log/program-log.ts'
import { timeouts } from '../../timeouts.ts'
import { type RebuildReason, rebuildReasons } from './rebuild-reason.ts'

export class RebuildBackoff {
  readonly #log: LogLine
  readonly #readClockMs: () => number
  #reason: RebuildReason | undefined
  #pauseMs: number = timeouts.indexing.firstRebuildPause.ms
  #allowedAt = Number.NEGATIVE_INFINITY
  #hasLogged = false

  /** `readClockMs` returns a time that never goes back. */
  constructor(log: LogLine, readClockMs: () => number = () => performance.now()) {
    this.#log = log
    this.#readClockMs = readClockMs
  }

  /**
   * Runs `rebuild`, unless a rebuild for the same reason did not help and the pause after it is not
   * over. The pause begins with a rebuild and takes a minute, two minutes, and so on up to an hour.
   * Logs the first time that a rebuild must wait. If `rebuild` throws, it may be repeated at once.
   */
  async rebuildIfAllowed(reason: RebuildReason, rebuild: () => Promise<void>): Promise<void> {
    if (!rebuildReasons[reason].backsOff) return rebuild()
    const { firstRebuildPause, longestRebuildPause } = timeouts.indexing
    const startedMs = this.#readClockMs()
    const hasRecovered = startedMs - this.#allowedAt > longestRebuildPause.ms
    const isRepeated = reason === this.#reason && !hasRecovered
    if (isRepeated && startedMs < this.#allowedAt)
      return this.#logOnce(reason, this.#allowedAt - startedMs)
    await rebuild()
    const pauseMs = isRepeated ? this.#pauseMs : firstRebuildPause.ms
    this.#reason = reason
    this.#allowedAt = startedMs + pauseMs
    this.#pauseMs = Math.min(2 * pauseMs, longestRebuildPause.ms)
    this.#hasLogged = false
  }

  #logOnce(reason: RebuildReason, waitMs: number): void {
    if (this.#hasLogged) return
    this.#hasLogged = true
    const seconds = Math.ceil(waitMs / 1_000)
    this.#log(
      `A rebuild did not help (${reason}). Waiting ${seconds} s before the next one. ` +
        'Is another version of the indexer or of Meilisearch running?',
      'warn',
    )
  }
}
