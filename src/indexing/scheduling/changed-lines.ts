// Logs what is tried again and again with the same result only once.
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

  /** The trouble is over: the next one is logged again. */
  reset(): void {
    this.#written.clear()
  }
}
