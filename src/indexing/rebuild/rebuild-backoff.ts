// Prevents endless rebuilds for a reason that a rebuild does not remove, such as settings that the
// engine returns in a different form.
import type { LogLine } from '../../monitoring/log/program-log.ts'
import { timeouts } from '../../timeouts.ts'
import { type RebuildReason, rebuildReasons } from './rebuild-reason.ts'

export class RebuildBackoff {
  readonly #log: LogLine
  #reason: RebuildReason | undefined
  #pauseMs: number = timeouts.indexing.firstRebuildPause.ms
  #allowedAt = Number.NEGATIVE_INFINITY
  #hasLogged = false

  constructor(log: LogLine) {
    this.#log = log
  }

  /**
   * Returns whether the index may be rebuilt now, and if so, records that a rebuild starts. The
   * first rebuild for a reason may start at once. The next ones wait a minute, two minutes, and so
   * on up to an hour. Logs the first time that a rebuild must wait.
   */
  tryStartRebuild(reason: RebuildReason): boolean {
    if (!rebuildReasons[reason].backsOff) return true
    const { firstRebuildPause, longestRebuildPause } = timeouts.indexing
    const now = performance.now()
    const hasRecovered = now - this.#allowedAt > longestRebuildPause.ms
    const isRepeated = reason === this.#reason && !hasRecovered
    if (isRepeated && now < this.#allowedAt) {
      this.#logOnce(reason, this.#allowedAt - now)
      return false
    }
    if (!isRepeated) this.#pauseMs = firstRebuildPause.ms
    this.#reason = reason
    this.#allowedAt = now + this.#pauseMs
    this.#pauseMs = Math.min(2 * this.#pauseMs, longestRebuildPause.ms)
    this.#hasLogged = false
    return true
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
