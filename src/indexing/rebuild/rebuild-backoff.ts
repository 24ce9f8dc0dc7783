// Prevents endless rebuilds for a reason that a rebuild does not remove, such as settings that the
// engine returns in a different form.
import type { LogLine } from '../../monitoring/log/program-log.ts'
import type { ReasonName, RebuildReason } from './rebuild-reason.ts'

// A rebuild is expensive, and another one will probably not help either.
const firstRebuildPauseMs = 60_000
// Somebody has to find out why. Meanwhile the index may be wrong.
const maxRebuildPauseMs = 3_600_000

/** The last rebuild for one reason. */
type LastRebuild = {
  /** How long the next rebuild for this reason must wait after the end of the last one. */
  pauseMs: number
  /** When that pause is over. */
  allowedAtMs: number
  /** Whether the log says that the next rebuild must wait. */
  isLogged: boolean
}

export class RebuildBackoff {
  readonly #log: LogLine
  readonly #readClockMs: () => number
  /** By reason, because two reasons that both persist may alternate. */
  readonly #lastRebuilds = new Map<ReasonName, LastRebuild>()

  /** `readClockMs` returns a time that never goes back. */
  constructor(log: LogLine, readClockMs: () => number = () => performance.now()) {
    this.#log = log
    this.#readClockMs = readClockMs
  }

  /**
   * Runs `rebuild`, unless the reason backs off, a rebuild for it did not help, and the pause after
   * it is not over. The pause takes a minute, then two minutes, and so on up to an hour. Logs the
   * first time that a rebuild must wait. If `rebuild` throws, it may be repeated at once.
   */
  async runUnlessBackingOff(reason: RebuildReason, rebuild: () => Promise<void>): Promise<void> {
    if (reason.checkIfRepeated === undefined) return rebuild()
    const startedMs = this.#readClockMs()
    const last = this.#lastRebuilds.get(reason.name)
    if (last && startedMs < last.allowedAtMs) return this.#logOnce(reason, last, startedMs)
    await rebuild()
    // If the reason has not returned for an hour after the last pause, the next pause is the
    // shortest again.
    const isRepeated = last && startedMs - last.allowedAtMs <= maxRebuildPauseMs
    const pauseMs = isRepeated ? Math.min(2 * last.pauseMs, maxRebuildPauseMs) : firstRebuildPauseMs
    const allowedAtMs = this.#readClockMs() + pauseMs
    this.#lastRebuilds.set(reason.name, { pauseMs, allowedAtMs, isLogged: false })
  }

  #logOnce({ text, checkIfRepeated }: RebuildReason, last: LastRebuild, nowMs: number): void {
    if (last.isLogged) return
    last.isLogged = true
    const seconds = Math.ceil((last.allowedAtMs - nowMs) / 1_000)
    this.#log(
      `A rebuild did not help. ${text} Waiting ${seconds} s before the next one. ` +
        checkIfRepeated,
      'warn',
    )
  }
}
