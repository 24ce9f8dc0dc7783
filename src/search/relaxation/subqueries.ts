// Sends the subqueries of one relaxed query to the engine, and holds their results.
import { shownAttributes } from '../../search-engine/document-fields.ts'
import {
  type EngineQuery,
  type EngineResult,
  requestResults,
  type SearchEngine,
} from '../../search-engine/search-client.ts'

/** The subqueries are divided among this many requests, which the engine answers in parallel. */
const parallelRequests = 2

/** What all subqueries of a query have in common. */
type SearchScope = { indexUid: string; filter: string[] }

/**
 * Finds the products that match a text. At most `limit` of them are returned. If the last word is
 * quoted, the engine does not complete it and answers fast.
 */
export type Subquery = { text: string; limit: number; isLastWordQuoted: boolean }

/**
 * Quotes words, so that the engine finds only products with exactly these words, in any order and
 * place. That takes a quarter of the time of words with typos, prefixes and synonyms.
 */
export function quote(...words: string[]): string {
  return words.map((word) => `"${word}"`).join(' ')
}

const noHits: EngineResult = { hits: [], estimatedTotalHits: 0 }

export class Subqueries {
  readonly #engine: SearchEngine
  readonly #scope: SearchScope
  readonly #signal: AbortSignal
  readonly #results = new Map<string, EngineResult>()

  /** Requests end when `signal` aborts. */
  constructor(engine: SearchEngine, scope: SearchScope, signal: AbortSignal) {
    this.#engine = engine
    this.#scope = scope
    this.#signal = signal
  }

  /**
   * Returns how many products of the scope contain each of these words as typed. Does not store the
   * results. Throws an `EngineFailure` if the engine does not answer.
   */
  async count(texts: string[]): Promise<{ text: string; productCount: number }[]> {
    const queries = new Map(texts.map((text) => [text, this.#toQuery(quote(text), 0)]))
    const resultOf = await requestResults(this.#engine, [...queries.values()], this.#signal)
    return Array.from(queries, ([text, query]) => ({
      text,
      productCount: resultOf(query).estimatedTotalHits,
    }))
  }

  /**
   * Sends the first subquery for each text that was not sent yet. Throws an `EngineFailure` if the
   * engine does not answer.
   */
  async send(subqueries: Subquery[]): Promise<void> {
    const unsent: Subquery[] = []
    for (const subquery of subqueries) {
      if (this.#results.has(subquery.text)) continue
      // Adds the text before its request is answered, so that `allResults` has the order of this
      // list and not the order of the answers. The order decides between hits of equal rank.
      this.#results.set(subquery.text, noHits)
      unsent.push(subquery)
    }
    await Promise.all(divideEvenly(unsent).map((request) => this.#request(request)))
  }

  /**
   * Returns the result for a text. It has no hits until the engine has answered. Undefined if the
   * text was not sent.
   */
  resultFor(text: string): EngineResult | undefined {
    return this.#results.get(text)
  }

  /** Returns all results, in the order in which they were sent. */
  allResults(): EngineResult[] {
    return [...this.#results.values()]
  }

  async #request(subqueries: Subquery[]): Promise<void> {
    const queries = new Map(subqueries.map(({ text, limit }) => [text, this.#toQuery(text, limit)]))
    const resultOf = await requestResults(this.#engine, [...queries.values()], this.#signal)
    for (const [text, query] of queries) this.#results.set(text, resultOf(query))
  }

  #toQuery(text: string, limit: number): EngineQuery {
    return {
      ...this.#scope,
      q: text,
      limit,
      matchingStrategy: 'all',
      attributesToRetrieve: shownAttributes,
    }
  }
}

/** Divides the subqueries among the parallel requests. Each gets its share of the slow ones. */
function divideEvenly(subqueries: Subquery[]): Subquery[][] {
  const slowFirst = subqueries.toSorted(
    (a, b) => Number(a.isLastWordQuoted) - Number(b.isLastWordQuoted),
  )
  const count = Math.min(parallelRequests, subqueries.length)
  return Array.from({ length: count }, (_, requestIndex) =>
    slowFirst.filter((_, index) => index % count === requestIndex),
  )
}
