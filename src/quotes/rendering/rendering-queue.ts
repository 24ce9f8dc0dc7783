// Runs renderings one at a time, caches their results and remembers failures.
import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import pTimeout from 'p-timeout'
import { timeouts } from '../../timeouts.ts'
import { maxQueuedRenderings } from './rendering-limits.ts'

type UnavailableOptions = { retryAfterMs?: number; skipLogging?: boolean; cause?: unknown }

/** A rendering that is not available now: it failed, or the queue is full. */
export class RenderingUnavailableError extends Error {
  /** The time after which the rendering may be requested again. */
  readonly retryAfterMs: number
  /** True if this is not a failure, or if the failure was logged before. */
  readonly skipLogging: boolean

  constructor(
    message: string,
    {
      retryAfterMs = timeouts.quotes.retryAfter.ms,
      skipLogging = false,
      cause,
    }: UnavailableOptions = {},
  ) {
    super(message, { cause })
    this.retryAfterMs = retryAfterMs
    this.skipLogging = skipLogging
  }
}

/** The rendering takes longer than a request waits. It continues, and a later request gets it. */
export class RenderingPendingError extends RenderingUnavailableError {
  constructor() {
    super('The rendering is not ready yet.', {
      retryAfterMs: timeouts.quotes.pendingRetryAfter.ms,
      skipLogging: true,
    })
  }
}

/** The renderer can never show this quote. The message says why. */
export class RenderingRefusedError extends Error {}

/** The service is stopping. This is no failure: another process can render the document. */
export class RendererStoppedError extends RenderingUnavailableError {
  constructor() {
    super('The service is stopping.', {
      retryAfterMs: timeouts.quotes.pendingRetryAfter.ms,
      skipLogging: true,
    })
  }
}

/** The document could not be read. The queue does not remember this as a failed rendering. */
export class DocumentNotReadError extends Error {}

/**
 * The process hardly ran, because it was stopped or the machine is busy. The queue does not
 * remember this as a failed rendering: the document is not the cause.
 */
export class RenderingStarvedError extends Error {}

type Failure = {
  count: number
  retryAt: number
  message: string
  isRefused: boolean
}

export type RenderingQueueOptions<Rendering> = {
  cacheBytes: number
  getBytes(rendering: Rendering): number
  maxQueued?: number
  /** How long a request waits at most, in the queue and for the rendering. */
  maxWaitMs?: number
  /**
   * The longest pause between two renderings. A pause is five times as long as the rendering before
   * it, so a busy queue leaves most of the time to other requests. Default: no pause.
   */
  maxPauseMs?: number
}

/** Logs a failure. It is not called for failures that the service did not cause. */
export type FailureListener = (error: unknown) => void

const maxRememberedFailures = 1_000
/** The length of the pause after a rendering, as a multiple of the rendering's duration. */
const pauseFactor = 5

/**
 * A cache and a queue in front of a renderer. A key contains everything that a rendering depends
 * on. After a failure, a rendering is not tried again for a time that doubles with each failure.
 */
export class RenderingQueue<Rendering extends object> {
  readonly #cache: LRUCache<string, Rendering>
  readonly #failures = new LRUCache<string, Failure>({ max: maxRememberedFailures })
  readonly #pending = new Map<string, Promise<Rendering>>()
  readonly #runAlone = pLimit(1)
  readonly #maxQueued: number
  readonly #maxWaitMs: number
  readonly #maxPauseMs: number
  /** When the next rendering may start, by performance.now(). */
  #pausedUntil = 0

  constructor({
    cacheBytes,
    getBytes,
    maxQueued = maxQueuedRenderings,
    maxWaitMs = timeouts.quotes.renderingWait.ms,
    maxPauseMs = 0,
  }: RenderingQueueOptions<Rendering>) {
    this.#cache = new LRUCache({
      // lru-cache requires sizes of at least 1. An entry above a quarter of the cache is not kept,
      // because it would evict too many others.
      maxSize: Math.max(1, cacheBytes),
      maxEntrySize: Math.max(1, Math.floor(cacheBytes / 4)),
      sizeCalculation: (rendering) => Math.max(1, getBytes(rendering)),
    })
    this.#maxQueued = maxQueued
    this.#maxWaitMs = maxWaitMs
    this.#maxPauseMs = maxPauseMs
  }

  /** Returns a cached rendering, or undefined. */
  getCached(key: string): Rendering | undefined {
    return this.#cache.get(key)
  }

  setCached(key: string, rendering: Rendering): void {
    this.#cache.set(key, rendering)
  }

  /**
   * Waits for a rendering that is queued or running. Returns undefined if there is none.
   * Throws RenderingPendingError if that takes too long, and RenderingUnavailableError if it failed
   * before and may not be tried again yet.
   */
  async findPending(key: string): Promise<Rendering | undefined> {
    const pending = this.#pending.get(key)
    if (pending) return this.#waitFor(pending)
    this.#rejectAfterFailure(key)
    return undefined
  }

  /** Returns whether a rendering failed before and may not be tried again yet. */
  hasFailed(key: string): boolean {
    const failure = this.#failures.get(key)
    return failure !== undefined && (failure.isRefused || failure.retryAt > Date.now())
  }

  #rejectAfterFailure(key: string): void {
    const failure = this.#failures.get(key)
    if (failure?.isRefused) throw new RenderingRefusedError(failure.message)
    const retryAfterMs = (failure?.retryAt ?? 0) - Date.now()
    if (!failure || retryAfterMs <= 0) return
    throw new RenderingUnavailableError(`It failed before: ${failure.message}`, {
      retryAfterMs,
      skipLogging: true,
    })
  }

  /**
   * Returns a rendering from the cache or from `render`. Renderings run one at a time, and
   * concurrent calls with the same key share one rendering. Throws RenderingPendingError if it
   * takes too long: the rendering continues. Throws RenderingRefusedError if the quote can never be
   * shown, DocumentNotReadError if `render` throws it, and RenderingUnavailableError if the queue
   * is full or the rendering fails or failed before. Calls `onFailure` once if the rendering fails,
   * also if no request waits for it any more.
   */
  async render(
    key: string,
    render: () => Promise<Rendering>,
    onFailure: FailureListener = () => undefined,
  ): Promise<Rendering> {
    const cached = this.#cache.get(key)
    if (cached) return cached
    const pending = this.#pending.get(key)
    if (pending) return this.#waitFor(pending)
    this.#rejectAfterFailure(key)
    // One of the pending renderings runs, the others are queued.
    if (this.#pending.size > this.#maxQueued)
      throw new RenderingUnavailableError('Too many renderings are queued.')
    const rendering = this.#runAlone(() => this.#run(key, render, onFailure)).finally(() =>
      this.#pending.delete(key),
    )
    this.#pending.set(key, rendering)
    return this.#waitFor(rendering)
  }

  #waitFor(rendering: Promise<Rendering>): Promise<Rendering> {
    return pTimeout(rendering, {
      milliseconds: this.#maxWaitMs,
      message: new RenderingPendingError(),
    })
  }

  async #run(
    key: string,
    render: () => Promise<Rendering>,
    onFailure: FailureListener,
  ): Promise<Rendering> {
    const pauseMs = this.#pausedUntil - performance.now()
    if (pauseMs > 0) await sleep(pauseMs)
    const startedAt = performance.now()
    try {
      const rendering = await render()
      this.#failures.delete(key)
      this.#cache.set(key, rendering)
      return rendering
    } catch (error) {
      if (error instanceof RendererStoppedError || error instanceof DocumentNotReadError)
        throw error
      if (!(error instanceof RenderingRefusedError)) onFailure(error)
      throw this.#toErrorOfRequest(key, error)
    } finally {
      const endedAt = performance.now()
      this.#pausedUntil = endedAt + Math.min(pauseFactor * (endedAt - startedAt), this.#maxPauseMs)
    }
  }

  /** Returns the error for requests. Remembers the failure, unless the machine caused it. */
  #toErrorOfRequest(key: string, error: unknown): Error {
    const message = error instanceof Error ? error.message : String(error)
    const logged = { skipLogging: true, cause: error }
    if (error instanceof RenderingStarvedError)
      return new RenderingUnavailableError(message, logged)
    const count = (this.#failures.get(key)?.count ?? 0) + 1
    const { firstFailurePause, longestFailurePause } = timeouts.quotes
    const retryAfterMs = Math.min(firstFailurePause.ms * 2 ** (count - 1), longestFailurePause.ms)
    const isRefused = error instanceof RenderingRefusedError
    this.#failures.set(key, { count, retryAt: Date.now() + retryAfterMs, message, isRefused })
    return isRefused ? error : new RenderingUnavailableError(message, { retryAfterMs, ...logged })
  }
}
