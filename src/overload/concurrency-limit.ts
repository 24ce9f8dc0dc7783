// Limits how many operations run at the same time, with a short queue.
import { timeouts } from '../timeouts.ts'
import { overloaded } from './overloaded-problem.ts'

type Options = {
  maxRunning: number
  maxQueued: number
}

/** Enough to start the next operation without delay while more arrives than can be done. */
const maxQueuedInOverload = 4

/**
 * Runs operations in the order of their arrival. After a rejection the queue is kept short until
 * 100 ms pass without one: in lasting overload a long queue only makes every answer late.
 */
export class ConcurrencyLimit {
  readonly #options: Options
  readonly #queue: { start(): void }[] = []
  #running = 0
  #rejectedAt = Number.NEGATIVE_INFINITY

  constructor(options: Options) {
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
   * Runs the operation, at once or after at most 100 ms in the queue. Throws a 503 problem if the
   * queue is full or the wait is too long.
   */
  async run<Result>(operation: () => Promise<Result>): Promise<Result> {
    if (this.#running < this.#options.maxRunning) this.#running += 1
    else if (this.hasCapacity()) await this.#waitInQueue()
    else throw overloaded
    try {
      return await operation()
    } finally {
      this.#startNext()
    }
  }

  #waitInQueue(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#queue.splice(this.#queue.indexOf(entry), 1)
        reject(overloaded)
      }, timeouts.overload.queue.ms)
      const entry = {
        start() {
          clearTimeout(timer)
          resolve()
        },
      }
      this.#queue.push(entry)
    })
  }

  /** The finished operation hands its place over to the first one in the queue. */
  #startNext(): void {
    const next = this.#queue.shift()
    if (next) next.start()
    else this.#running -= 1
  }
}
