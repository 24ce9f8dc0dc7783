// Logs what happens to the synonyms, which may be sent again and again while the engine rejects
// them: each line once.
import type { LogLine } from '../../monitoring/log/program-log.ts'

export class SynonymLog {
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

  /** Must be called when the engine has the synonyms, so that the next failure is logged again. */
  reset(): void {
    this.#written.clear()
  }
}
