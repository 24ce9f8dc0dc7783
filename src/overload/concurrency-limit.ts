// Limits how many searches run at the same time and how many more may wait, and has the limit for
// statistics.
import { timeouts } from '../timeouts.ts'
import { overloaded } from './overloaded-problem.ts'

type ConcurrencyOptions = { maxRunning: number; maxQueued: number }

/**
 * Searches that one process runs at the same time. More of them would make answers under overload
 * slower, but not more numerous (docs/decisions/0013-load-shedding.md).
 */
export const maxRunningSearches = 16
/** Searches that wait for one of the running ones, so that a short burst is not rejected. */
export const maxQueuedSearches = 64
/**
 * Searches that wait for one of the connections with which PostgreSQL answers while the engine is
 * unavailable. More would wait longer than a search may take.
 */
export const maxQueuedFallbacks = 8
/** Statistics that one process computes at the same time. Further ones wait in a queue. */
export const maxRunningStats = 4
/** Enough to start the next operation at once while requests arrive faster than they finish. */
const maxQueuedInOverload = 4

/**
 * Runs operations in the order of their arrival. After a rejection the queue is kept short until
 * 100 ms pass without one: in lasting overload a long queue only makes every answer late.
 */
export class ConcurrencyLimit {
  readonly #options: ConcurrencyOptions
  readonly #queue: { start(): void }[] = []
  #running = 0
  #rejectedAt = Number.NEGATIVE_INFINITY

  constructor(options: ConcurrencyOptions) {
    this.#options = options
  }

  /** Returns whether another operation would be run or queued. A `false` counts as a rejection. */
  hasCapacity(): boolean {
    if (this.#running < this.#options.maxRunning) return true
    const now = performance.now()
    const isOverloaded = now - this.#rejectedAt < timeouts.overload.recentRejection.ms
    const maxQueued = isOverloaded ? maxQueuedInOverload : this.#options.maxQueued
    if (this.#queue.length < maxQueued) return true
    this.#rejectedAt = now
    return false
  }

  /**
   * Runs the operation, at once or after at most 100 ms in the queue, and `moreWaitMs` if given.
   * Throws a 503 problem if the queue is full or the wait is too long.
   */
  async run<Result>(
    operation: () => Promise<Result>,
    { moreWaitMs = 0 }: { moreWaitMs?: number } = {},
  ): Promise<Result> {
    if (this.#running < this.#options.maxRunning) this.#running += 1
    else if (this.hasCapacity()) await this.#waitInQueue(timeouts.overload.queue.ms + moreWaitMs)
    else throw overloaded
    try {
      return await operation()
    } finally {
      this.#startNext()
    }
  }

  #waitInQueue(waitMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#queue.splice(this.#queue.indexOf(entry), 1)
        reject(overloaded)
      }, waitMs)
      const entry = {
        start() {
          clearTimeout(timer)
          resolve()
        },
      }
      this.#queue.push(entry)
    })
  }

  /** Starts the first operation of the queue in place of the finished one. */
  #startNext(): void {
    const next = this.#queue.shift()
    if (next) next.start()
    else this.#running -= 1
  }
}
