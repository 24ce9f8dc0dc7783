// Logs the result of something that is tried repeatedly, but equal results only once.
import type { LogLine } from '../../monitoring/log/program-log.ts'

/** Writes each line once until the next reset. */
export class ChangedLines {
  readonly #log: LogLine
  readonly #written = new Set<string>()

  constructor(log: LogLine) {
    this.#log = log
  }

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
