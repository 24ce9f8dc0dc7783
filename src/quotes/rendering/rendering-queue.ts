// Runs the renderings of one process one at a time, and pauses between them.
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import { QuoteFailure } from '../failures.ts'
import { maxQueuedRenderings } from './rendering-limits.ts'

export type RenderingQueueOptions = {
  /** Not counting the rendering that runs. */
  maxQueued?: number
  /**
   * The longest pause between two renderings. A pause is five times as long as the rendering before
   * it, so a busy queue leaves most of the time to other requests. Default: no pause.
   */
  maxPauseMs?: number
  /** Returns the time in milliseconds. Tests replace it. */
  now?: () => number
  /** Makes a pause, which ends early if the signal aborts. Tests replace it. */
  pause?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

/** The length of the pause after a rendering, as a multiple of the rendering's duration. */
const pauseFactor = 5

export class RenderingQueue {
  readonly #runAlone = pLimit(1)
  readonly #signal: AbortSignal
  readonly #maxQueued: number
  readonly #maxPauseMs: number
  readonly #now: () => number
  readonly #pause: (ms: number, signal: AbortSignal) => Promise<unknown>
  /** When the next rendering may start, in the time of `now`. */
  #pausedUntil = 0

  /** Once `signal` is aborted, all renderings that have not started fail with its reason. */
  constructor(
    signal: AbortSignal,
    {
      maxQueued = maxQueuedRenderings,
      maxPauseMs = 0,
      now = () => performance.now(),
      pause = pauseUntilAborted,
    }: RenderingQueueOptions = {},
  ) {
    this.#signal = signal
    this.#maxQueued = maxQueued
    this.#maxPauseMs = maxPauseMs
    this.#now = now
    this.#pause = pause
  }

  /** Runs a rendering after those that were queued before. Throws QuoteFailure `queue_full`. */
  async run<Result>(render: () => Promise<Result>): Promise<Result> {
    // One of these renderings runs. It is not in the queue.
    const { activeCount, pendingCount } = this.#runAlone
    if (activeCount + pendingCount > this.#maxQueued)
      throw new QuoteFailure('queue_full', 'Too many renderings are queued.')
    return this.#runAlone(async () => {
      const pauseMs = this.#pausedUntil - this.#now()
      if (pauseMs > 0) await this.#pause(pauseMs, this.#signal)
      this.#signal.throwIfAborted()
      const startedAt = this.#now()
      try {
        return await render()
      } finally {
        const endedAt = this.#now()
        const maxPauseMs = this.#maxPauseMs
        this.#pausedUntil = endedAt + Math.min(pauseFactor * (endedAt - startedAt), maxPauseMs)
      }
    })
  }
}

function pauseUntilAborted(ms: number, signal: AbortSignal): Promise<unknown> {
  return sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
}
