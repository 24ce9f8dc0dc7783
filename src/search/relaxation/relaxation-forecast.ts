// Forecasts whether a query will be relaxed. If so, the service counts the products with each of
// its words while the first request runs, and not after it. At each keystroke
// a caller sends the same text again with one more letter. For example, if "taladro percutor bl"
// needed relaxation, "taladro percutor blu" probably needs it too.
import { LRUCache } from 'lru-cache'
import type { ParsedQuery } from '../../text/parse-query.ts'
import { canRelax } from './query-words.ts'

/**
 * With this many words or more, products often lack one of them. Counting early adds a fifth to
 * the cost of the first request.
 */
const minWordsToCountEarly = 3
/** The number of recent texts that are remembered. */
const maxTexts = 4_000
/** A fast typist types up to this many letters before the first one is answered. */
const maxLettersBefore = 10

export class RelaxationForecast {
  /** Whether queries needed relaxation (needsRelaxation), by text. */
  readonly #neededRelaxation = new LRUCache<string, boolean>({ max: maxTexts })

  /** Whether to count early, because the query has many words and probably needs relaxation. */
  shouldCountEarly(query: ParsedQuery): boolean {
    const hasManyWords = query.engineText.words.length >= minWordsToCountEarly
    return hasManyWords && canRelax(query) && this.#probablyNeedsRelaxation(query.text)
  }

  /**
   * Remembers whether this query needed relaxation. Ignores queries of one word: whether "taladro"
   * needed it says nothing about "taladro percutor".
   */
  record({ text, engineText }: ParsedQuery, needsRelaxation: boolean): void {
    if (engineText.words.length > 1) this.#neededRelaxation.set(text, needsRelaxation)
  }

  /**
   * Looks up the text itself, then the text without its last letter, and so on, up to
   * `maxLettersBefore` letters. Returns whether the first known text needed relaxation. Returns
   * true if none is known. The result is only probable, because the catalogue and the filters may
   * differ.
   */
  #probablyNeedsRelaxation(text: string): boolean {
    const shortest = Math.max(1, text.length - maxLettersBefore)
    for (let length = text.length; length >= shortest; length--) {
      const known = this.#neededRelaxation.get(text.slice(0, length))
      if (known !== undefined) return known
    }
    return true
  }
}
