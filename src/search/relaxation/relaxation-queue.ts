// Limits how many queries are relaxed at the same time. Relaxing a query of ten words costs the
// engine as much as thirty keystrokes, so without a limit a few callers could slow all others down.
import { timeouts } from '../../timeouts.ts'

/** Each of these queries keeps up to two cores busy. */
export const maxRelaxing = 2

/**
 * Thrown if a query is not relaxed, because too many others are. Its first request was answered.
 */
export class NotRelaxed extends Error {
  constructor() {
    super('too many queries are being relaxed at the same time')
  }
}

type Waiting = { wordCount: number; start(): void }

/** Runs queries with fewer words first, because they cost less. */
export class RelaxationQueue {
  readonly #waiting: Waiting[] = []
  #running = 0

  /**
   * Calls `relax` for a query of `wordCount` words, at once or after at most 100 ms. Throws
   * `NotRelaxed` if the wait is too long, or the error of `relax`.
   */
  async run<Result>(wordCount: number, relax: () => Promise<Result>): Promise<Result> {
    if (this.#running < maxRelaxing) this.#running += 1
    else await this.#wait(wordCount)
    try {
      return await relax()
    } finally {
      this.#startNext()
    }
  }

  #wait(wordCount: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const entry = {
        wordCount,
        start() {
          clearTimeout(timer)
          resolve()
        },
      }
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(entry), 1)
        reject(new NotRelaxed())
      }, timeouts.search.relaxation.ms)
      const longer = this.#waiting.findIndex((other) => other.wordCount > wordCount)
      this.#waiting.splice(longer < 0 ? this.#waiting.length : longer, 0, entry)
    })
  }

  /** Starts the first waiting query in place of the finished one. */
  #startNext(): void {
    const next = this.#waiting.shift()
    if (next) next.start()
    else this.#running -= 1
  }
}
