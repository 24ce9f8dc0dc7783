// Caches renderings, and shares those that are being made. Pages and JSON have one cache, PDFs
// another. failed-renderings.ts remembers the failures of each.
import { LRUCache } from 'lru-cache'
import pTimeout from 'p-timeout'
import { needsErrorLog, QuoteFailure } from '../failures.ts'
import { getLinkIdentity, type OpenLink } from '../links/read-link.ts'
import { FailedRenderings } from './failed-renderings.ts'

// Later a visitor wants to see that something happens.
export const renderingWait = { ms: 10_000 }

type RenderingCacheOptions<Content> = {
  cacheBytes: number
  /** Returns the size of the content in bytes. */
  getSize(content: Content): number
  /** How long a request waits at most, in a queue and for the rendering. */
  maxWaitMs?: number
  /** Returns the time in milliseconds, for pauses after failures. Tests replace it. */
  now?: () => number
}

/** What a request needs for a rendering. */
export type RenderingContext = {
  /** Called only if the rendering is not cached. */
  readVerifiedDocument(): Promise<string>
  /** Logs why a rendering failed: once, however many requests wait for it. */
  logFailure(error: unknown): void
}

/** `isCached`: the content was rendered for an earlier request. */
export type RenderedContent<Content> = { content: Content; isCached: boolean }

/**
 * Returns the part of a cache key that identifies the link, the version of its row, and the status
 * that is shown. If somebody changes the row, the document is read and verified again.
 */
export function getLinkCacheKey(link: OpenLink): string {
  const { rowVersion, contentHash, quoteStatus } = link
  return `${getLinkIdentity(link)} ${rowVersion} ${contentHash} ${quoteStatus}`
}

/** The renderings of one kind. A key contains everything that a rendering depends on. */
export class RenderingCache<Content extends object> {
  readonly #cache: LRUCache<string, Content>
  readonly #failed: FailedRenderings
  /** The renderings that are being made. */
  readonly #pending = new Map<string, Promise<Content>>()
  readonly #maxWaitMs: number

  constructor({
    cacheBytes,
    getSize,
    maxWaitMs = renderingWait.ms,
    now = () => performance.now(),
  }: RenderingCacheOptions<Content>) {
    this.#cache = new LRUCache({
      // lru-cache requires sizes of at least 1.
      maxSize: Math.max(1, cacheBytes),
      sizeCalculation: (content) => Math.max(1, getSize(content)),
    })
    this.#maxWaitMs = maxWaitMs
    this.#failed = new FailedRenderings(now)
  }

  /** Returns whether a rendering failed before and may not be tried again yet. */
  isBlocked(key: string): boolean {
    return this.#failed.isBlocked(key)
  }

  /**
   * Returns the content from the cache or from `render`. Concurrent calls with the same key share
   * one rendering. Throws QuoteFailure; its reason is `pending` if this takes too long. The
   * rendering then goes on.
   */
  async getOrRender(
    key: string,
    render: () => Promise<Content>,
    logFailure: RenderingContext['logFailure'],
  ): Promise<RenderedContent<Content>> {
    const cached = this.#cache.get(key)
    if (cached) return { content: cached, isCached: true }
    const rendering = this.#pending.get(key) ?? this.#start(key, render, logFailure)
    const content = await pTimeout(rendering, {
      milliseconds: this.#maxWaitMs,
      message: new QuoteFailure('pending', 'The rendering is not ready yet.'),
    })
    return { content, isCached: false }
  }

  /**
   * Starts a rendering that later calls share. Throws HandledFailure if it failed before
   * and may not be tried again yet.
   */
  #start(
    key: string,
    render: () => Promise<Content>,
    logFailure: RenderingContext['logFailure'],
  ): Promise<Content> {
    this.#failed.rejectEarlyRetry(key)
    const rendering = this.#run(key, render, logFailure).finally(() => this.#pending.delete(key))
    this.#pending.set(key, rendering)
    return rendering
  }

  async #run(
    key: string,
    render: () => Promise<Content>,
    logFailure: RenderingContext['logFailure'],
  ): Promise<Content> {
    try {
      const content = await render()
      this.#failed.forget(key)
      this.#cache.set(key, content)
      return content
    } catch (error) {
      if (needsErrorLog(error)) logFailure(error)
      throw this.#failed.wrapAndRemember(key, error)
    }
  }
}
