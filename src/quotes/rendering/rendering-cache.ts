// Caches renderings, and shares those that are being made. Pages and JSON have one cache, PDFs
// another. Each remembers the failures that will probably recur.
import { LRUCache } from 'lru-cache'
import pTimeout from 'p-timeout'
import {
  type FailureReason,
  failureRules,
  getRenderingFailureReason,
  HandledFailure,
  needsErrorLog,
  QuoteFailure,
} from '../failures.ts'
import { getLinkIdentity, type OpenLink } from '../links/read-link.ts'

// Later a visitor wants to see that something happens.
export const renderingWait = { ms: 10_000 }

type RenderingCacheOptions<Content> = {
  cacheBytes: number
  getSize(content: Content): number
  /** How long a request waits at most, in a queue and for the rendering. */
  maxWaitMs?: number
  /** Returns the time in milliseconds, for pauses after failures. Tests replace it. */
  now?: () => number
}

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

// The cause may be short, such as a busy machine. Each attempt may cost seconds.
const firstFailurePauseMs = 30_000
// A document that always fails costs each process one attempt an hour.
const maxFailurePauseMs = 3_600_000

type FailedRendering = {
  count: number
  reason: FailureReason
  message: string
  /** By the clock of `now`. Infinity: never, because the document cannot be rendered. */
  retryAt: number
}

const maxRemembered = 1_000

/** The failed renderings by key. The pause before the next attempt doubles with each failure. */
class FailedRenderings {
  readonly #failedByKey = new LRUCache<string, FailedRendering>({ max: maxRemembered })
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  isBlocked(key: string): boolean {
    const failed = this.#failedByKey.get(key)
    return failed !== undefined && failed.retryAt > this.#now()
  }

  rejectEarlyRetry(key: string): void {
    const failed = this.#failedByKey.get(key)
    if (!failed || !this.isBlocked(key)) return
    const { reason, message, retryAt } = failed
    throw new HandledFailure(reason, `The rendering failed before: ${message}`, {
      ...(Number.isFinite(retryAt) && { retryAfterMs: retryAt - this.#now() }),
    })
  }

  /**
   * Returns what the requests get that wait for a rendering which ended with this error. Remembers
   * it if it will probably recur.
   */
  wrapAndRemember(key: string, error: unknown): HandledFailure {
    const reason = getRenderingFailureReason(error)
    const message = error instanceof Error ? error.message : String(error)
    const { retryRendering } = failureRules[reason]
    const count = (this.#failedByKey.get(key)?.count ?? 0) + 1
    const pauseMs = getPauseMs(retryRendering, count)
    if (pauseMs > 0)
      this.#failedByKey.set(key, { count, reason, message, retryAt: this.#now() + pauseMs })
    return new HandledFailure(reason, message, {
      cause: error,
      ...(retryRendering === 'after-pause' && { retryAfterMs: pauseMs }),
    })
  }

  forget(key: string): void {
    this.#failedByKey.delete(key)
  }
}

function getPauseMs(retryRendering: 'after-pause' | 'never' | undefined, count: number): number {
  if (retryRendering === undefined) return 0
  if (retryRendering === 'never') return Number.POSITIVE_INFINITY
  return Math.min(firstFailurePauseMs * 2 ** (count - 1), maxFailurePauseMs)
}
