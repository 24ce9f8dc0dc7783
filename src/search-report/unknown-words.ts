// Finds out which words no product has, by asking the search engine: it has received them anyway.
import { LRUCache } from 'lru-cache'
import type { RegisteredEngine } from '../search-engine/engine-selection.ts'
import type { EngineQuery, EngineResult } from '../search-engine/search-client.ts'
import { engineTimeout } from '../search-engine/search-client.ts'

// The search engine is asked for new words only.
const knownWordMs = 600_000

/** Further words of one batch are not looked up. */
const maxWords = 40
const maxKnownWords = 5_000

export class UnknownWords {
  readonly #engines: readonly RegisteredEngine[]
  readonly #indexName: string
  /** Words that products have. */
  readonly #known = new LRUCache<string, true>({
    max: maxKnownWords,
    ttl: knownWordMs,
  })

  constructor(engines: readonly RegisteredEngine[], indexName: string) {
    this.#engines = engines
    this.#indexName = indexName
  }

  /**
   * Returns those of the words that no product has, neither as the beginning of a word nor as a
   * synonym. Returns none if the engine does not answer.
   */
  async find(words: string[]): Promise<Set<string>> {
    const asked = words.filter((word) => !this.#known.has(word)).slice(0, maxWords)
    if (asked.length === 0) return new Set()
    const queries = asked.map((q) => ({
      indexUid: this.#indexName,
      q,
      limit: 1,
      matchingStrategy: 'all' as const,
      attributesToRetrieve: ['id'] as const,
      showRankingScoreDetails: true,
    }))
    const results = await this.#ask(queries)
    const found = asked.filter((_, index) => isExact(results[index]))
    for (const word of found) this.#known.set(word, true)
    return new Set(asked.filter((word, index) => results[index] && !found.includes(word)))
  }

  async #ask(queries: EngineQuery[]): Promise<EngineResult[]> {
    for (const { engine } of this.#engines) {
      const limit = AbortSignal.timeout(engineTimeout.ms)
      // The circuit breaker reports outages. The words count the next time somebody types them.
      const results = await engine.search(queries, limit).catch(() => null)
      if (results) return results
    }
    return []
  }
}

function isExact(result: EngineResult | undefined): boolean {
  const [hit] = result?.hits ?? []
  return hit !== undefined && (hit._rankingScoreDetails?.typo?.typoCount ?? 0) === 0
}
