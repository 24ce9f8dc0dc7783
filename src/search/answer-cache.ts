// Caches search answers while the index is unchanged. Short prefixes are typed again and again.
import { LRUCache } from 'lru-cache'
import type { SerializedResult } from './answer-json.ts'

/** A string takes at most two bytes per character. */
const bytesPerCharacter = 2
/** An estimate of what an entry costs besides its texts. */
const entryOverheadBytes = 200

type EngineAnswers = { version: string; answers: LRUCache<string, SerializedResult> }

/**
 * The answers of each engine, for one version of its index. The engines share the bytes equally;
 * the least recently used answers are evicted first.
 */
export class AnswerCache {
  readonly #maxBytesPerEngine: number
  readonly #byEngine = new Map<string, EngineAnswers>()

  /** Caches nothing if `maxBytes` is 0. */
  constructor(maxBytes: number, engineCount: number) {
    this.#maxBytesPerEngine = Math.floor(maxBytes / engineCount)
  }

  /**
   * Returns the answer that was cached for this version of the engine's index. If the version is
   * not that of the last call, all answers of the engine are discarded. Without a version nothing
   * is cached.
   */
  get(registrationName: string, version: string | null, key: string): SerializedResult | undefined {
    if (version === null || this.#maxBytesPerEngine === 0) return undefined
    const cached = this.#byEngine.get(registrationName)
    if (cached?.version === version) return cached.answers.get(key)
    this.#byEngine.set(registrationName, { version, answers: this.#emptyAnswers() })
    return undefined
  }

  /** Caches an answer, unless `get` has been called with another version meanwhile. */
  set(
    registrationName: string,
    version: string | null,
    key: string,
    result: SerializedResult,
  ): void {
    const cached = this.#byEngine.get(registrationName)
    if (cached?.version === version) cached.answers.set(key, result)
  }

  #emptyAnswers(): LRUCache<string, SerializedResult> {
    return new LRUCache({ maxSize: this.#maxBytesPerEngine, sizeCalculation: estimateBytes })
  }
}

function estimateBytes(result: SerializedResult, key: string): number {
  const characters = Object.values(result).reduce((sum, json) => sum + json.length, key.length)
  return bytesPerCharacter * characters + entryOverheadBytes
}
