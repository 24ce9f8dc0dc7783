// Caches search responses while the index is unchanged, because people type the same prefixes
// often.
import { LRUCache } from 'lru-cache'
import type { SerializedResult } from './response-json.ts'

/** A string takes at most two bytes per character. */
const bytesPerCharacter = 2
/** An estimate of the memory of an entry besides its texts. */
const entryOverheadBytes = 200

type EngineResults = { version: string; results: LRUCache<string, SerializedResult> }

/**
 * The results of each engine, for one version of its index. The engines share the bytes equally;
 * the least recently used results are evicted first.
 */
export class ResponseCache {
  readonly #maxBytesPerEngine: number
  readonly #byEngine = new Map<string, EngineResults>()

  /** Caches nothing if `maxBytes` is 0. */
  constructor(maxBytes: number, engineCount: number) {
    this.#maxBytesPerEngine = Math.floor(maxBytes / engineCount)
  }

  /**
   * Returns the result that was cached for this version of the engine's index. If the version
   * differs from that of the last call, all results of the engine are discarded. Without a version
   * nothing is cached.
   */
  get(registrationName: string, version: string | null, key: string): SerializedResult | undefined {
    if (version === null || this.#maxBytesPerEngine === 0) return undefined
    const cached = this.#byEngine.get(registrationName)
    if (cached?.version === version) return cached.results.get(key)
    this.#byEngine.set(registrationName, { version, results: this.#createCache() })
    return undefined
  }

  /** Caches a result, unless `get` has been called with a different version meanwhile. */
  set(
    registrationName: string,
    version: string | null,
    key: string,
    result: SerializedResult,
  ): void {
    const cached = this.#byEngine.get(registrationName)
    if (cached?.version === version) cached.results.set(key, result)
  }

  #createCache(): LRUCache<string, SerializedResult> {
    return new LRUCache({ maxSize: this.#maxBytesPerEngine, sizeCalculation: estimateBytes })
  }
}

function estimateBytes(result: SerializedResult, key: string): number {
  const characters = Object.values(result).reduce((sum, json) => sum + json.length, key.length)
  return bytesPerCharacter * characters + entryOverheadBytes
}
