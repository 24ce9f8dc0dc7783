// Logs each line once. An indexer that starts over after each error would repeat many of them.
import type { LogLine } from '../../monitoring/log/program-log.ts'

export class OnceLog {
  readonly #log: LogLine
  readonly #written = new Set<string>()

  constructor(log: LogLine) {
    this.#log = log
  }

  /** Logs this line, unless it was logged since the last reset. */
  readonly write: LogLine = (line, level) => {
    if (this.#written.has(line)) return
    this.#written.add(line)
    this.#log(line, level)
  }

  /** Must be called after a success, so that the next failure is logged again. */
  reset(): void {
    this.#written.clear()
  }
}
