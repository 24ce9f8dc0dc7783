// Forecasts whether a query will be relaxed. If so, the products with each of its words are counted
// while the first request runs, and not after it (docs/decisions/0006). A caller who types sends
// the same text again with one more letter, and the result is usually the same.
import type { ParsedQuery } from '../../text/parse-query.ts'

/**
 * With this many words or more, products often lack one of them. Counting early adds a fifth to
 * the cost of the first request.
 */
const minWordsToCountEarly = 3

/** At least this many recent texts are remembered, and at most twice as many. */
const maxTexts = 2_000
/** A fast typist types up to this many letters before the first one is answered. */
const maxLettersBefore = 10

export class RelaxationForecast {
  /** Whether the query needed relaxation (needsRelaxation), by text. */
  #recent = new Map<string, boolean>()
  #older = new Map<string, boolean>()

  /** Whether to count early. The query must be one that may be relaxed. */
  shouldCountEarly({ text, searched }: ParsedQuery): boolean {
    return searched.words.length >= minWordsToCountEarly && this.probablyNeedsRelaxation(text)
  }

  /** Remembers whether the query with this text needed relaxation. */
  record(text: string, needsRelaxation: boolean): void {
    if (this.#recent.size >= maxTexts) {
      this.#older = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(text, needsRelaxation)
  }

  /**
   * Returns whether the query with this text needed relaxation or, if it is new, the one without
   * its last letters. Only probably, because the catalogue and the filters may differ. True if
   * neither is known.
   */
  probablyNeedsRelaxation(text: string): boolean {
    const shortest = Math.max(1, text.length - maxLettersBefore)
    for (let length = text.length; length >= shortest; length--) {
      const beginning = text.slice(0, length)
      const known = this.#recent.get(beginning) ?? this.#older.get(beginning)
      if (known !== undefined) return known
    }
    return true
  }
}
