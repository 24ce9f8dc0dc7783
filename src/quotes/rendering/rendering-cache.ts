// Caches renderings, and makes missing ones one at a time. Pages and JSON have one cache, PDFs
// another. failed-renderings.ts remembers the failures of each.
import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import pTimeout from 'p-timeout'
import { timeouts } from '../../timeouts.ts'
import { needsOperator, QuoteFailure } from '../failures.ts'
import type { OpenLink } from '../links/read-link.ts'
import { FailedRenderings } from './failed-renderings.ts'
import { maxQueuedRenderings } from './rendering-limits.ts'

type RenderingCacheOptions<Result> = {
  cacheBytes: number
  /** Returns the size of a result in bytes. */
  getSize(result: Result): number
  maxQueued?: number
  /** How long a request waits at most, in the queue and for the rendering. */
  maxWaitMs?: number
  /**
   * The longest pause between two renderings. A pause is five times as long as the rendering before
   * it, so a busy queue leaves most of the time to other requests. Default: no pause.
   */
  maxPauseMs?: number
  /** Measures and makes all pauses, also those after failures. Tests replace it. */
  clock?: Clock
}

type Clock = { now(): number; sleep(ms: number): Promise<unknown> }
const systemClock: Clock = { now: () => performance.now(), sleep }

/** Logs why a rendering failed. Called once for a rendering, however many requests wait for it. */
export type LogFailure = (error: unknown) => void

/** Reads and verifies the document of a link, and logs failures of its renderings. */
export type RenderingSource = { readDocument(): Promise<string>; logFailure: LogFailure }

/**
 * Returns the part of a key that says what is rendered. A rendering belongs to one link and one
 * version of its row. If somebody changes the row, the document is read and verified again.
 */
export function getLinkKey(link: OpenLink): string {
  const { linkId, tokenHash, rowVersion, contentHash, quoteStatus } = link
  return `${linkId} ${tokenHash} ${rowVersion} ${contentHash} ${quoteStatus}`
}

/** The length of the pause after a rendering, as a multiple of the rendering's duration. */
const pauseFactor = 5

/** The renderings of one kind. A key contains everything that a rendering depends on. */
export class RenderingCache<Result extends object> {
  readonly #cache: LRUCache<string, Result>
  readonly #failed: FailedRenderings
  /** The renderings that run or are queued. */
  readonly #pending = new Map<string, Promise<Result>>()
  readonly #runAlone = pLimit(1)
  readonly #maxQueued: number
  readonly #maxWaitMs: number
  readonly #maxPauseMs: number
  readonly #clock: Clock
  /** When the next rendering may start, by the clock. */
  #pausedUntil = 0

  constructor({
    cacheBytes,
    getSize,
    maxQueued = maxQueuedRenderings,
    maxWaitMs = timeouts.quotes.renderingWait.ms,
    maxPauseMs = 0,
    clock = systemClock,
  }: RenderingCacheOptions<Result>) {
    this.#cache = new LRUCache({
      // lru-cache requires sizes of at least 1. An entry above a quarter of the cache is not kept,
      // because it would evict too many others.
      maxSize: Math.max(1, cacheBytes),
      maxEntrySize: Math.max(1, Math.floor(cacheBytes / 4)),
      sizeCalculation: (result) => Math.max(1, getSize(result)),
    })
    this.#maxQueued = maxQueued
    this.#maxWaitMs = maxWaitMs
    this.#maxPauseMs = maxPauseMs
    this.#clock = clock
    this.#failed = new FailedRenderings(clock.now)
  }

  /** Returns a cached result, or undefined. */
  get(key: string): Result | undefined {
    return this.#cache.get(key)
  }

  /** Returns whether a rendering failed before and may not be tried again yet. */
  isBlocked(key: string): boolean {
    return this.#failed.isBlocked(key)
  }

  /**
   * Returns a result from the cache or from `render`. Concurrent calls with the same key share one
   * rendering. Throws QuoteFailure; its reason is `pending` if this takes too long. The rendering
   * then goes on. With `waitsInQueue`, renderings run one at a time.
   */
  async render(
    key: string,
    render: () => Promise<Result>,
    { logFailure, waitsInQueue }: { logFailure: LogFailure; waitsInQueue: boolean },
  ): Promise<Result> {
    const cached = this.#cache.get(key)
    if (cached) return cached
    const pending = this.#pending.get(key)
    if (pending) return this.#waitFor(pending)
    this.#failed.rejectEarlyRetry(key)
    const run = () => this.#run(key, render, logFailure)
    const rendering = (waitsInQueue ? this.#enqueue(run) : run()).finally(() =>
      this.#pending.delete(key),
    )
    this.#pending.set(key, rendering)
    return this.#waitFor(rendering)
  }

  /** Runs a rendering after those that were queued before, and after a pause. */
  #enqueue(run: () => Promise<Result>): Promise<Result> {
    // One of these renderings runs. It is not in the queue.
    const { activeCount, pendingCount } = this.#runAlone
    if (activeCount + pendingCount > this.#maxQueued)
      // Not logged as an error for each request. Their log lines have the reason.
      throw new QuoteFailure('queue_full', 'Too many renderings are queued.', {
        skipErrorLog: true,
      })
    return this.#runAlone(async () => {
      const pauseMs = this.#pausedUntil - this.#clock.now()
      if (pauseMs > 0) await this.#clock.sleep(pauseMs)
      const startedAt = this.#clock.now()
      try {
        return await run()
      } finally {
        const endedAt = this.#clock.now()
        const maxPauseMs = this.#maxPauseMs
        this.#pausedUntil = endedAt + Math.min(pauseFactor * (endedAt - startedAt), maxPauseMs)
      }
    })
  }

  #waitFor(rendering: Promise<Result>): Promise<Result> {
    return pTimeout(rendering, {
      milliseconds: this.#maxWaitMs,
      message: new QuoteFailure('pending', 'The rendering is not ready yet.'),
    })
  }

  async #run(key: string, render: () => Promise<Result>, logFailure: LogFailure): Promise<Result> {
    try {
      const result = await render()
      this.#failed.forget(key)
      this.#cache.set(key, result)
      return result
    } catch (error) {
      if (needsOperator(error)) logFailure(error)
      throw this.#failed.record(key, error)
    }
  }
}
