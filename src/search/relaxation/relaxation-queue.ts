// Limits how many queries are relaxed at the same time. Relaxing a query of ten words costs the
// engine as much as thirty keystrokes, so without a limit a few callers could slow all others down.
// Early counts of words do not wait here: they run beside the first request and cost a fifth of it.

// The first request, this wait and the relaxation fit into the limit of 300 ms.
export const relaxationTimeout = { ms: 100 }

/**
 * Each process relaxes at most this many queries at the same time. Each keeps up to two cores of
 * the engine busy.
 */
export const maxRelaxing = 2

type Waiting = { wordCount: number; start(): void }

/** Runs queries with fewer words first, because they cost less. */
export class RelaxationQueue {
  #waiting: Waiting[] = []
  #running = 0

  /**
   * Calls `relax` for a query of `wordCount` words, at once or when others have finished. Returns
   * null without a call if the wait takes longer than `relaxationTimeout`, or if
   * `signal` aborts first.
   */
  async run<Result>(
    wordCount: number,
    signal: AbortSignal,
    relax: () => Promise<Result>,
  ): Promise<Result | null> {
    if (signal.aborted) return null
    if (this.#running < maxRelaxing) this.#running += 1
    else if (!(await this.#waitForPlace(wordCount, signal))) return null
    try {
      return await relax()
    } finally {
      this.#startNext()
    }
  }

  /**
   * Returns true when another query has ended and this one may start. Returns false if the wait
   * takes too long, or if `signal` aborts first.
   */
  #waitForPlace(wordCount: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const entry = {
        wordCount,
        start() {
          clearTimeout(timer)
          resolve(true)
        },
      }
      // The signal may abort after the query has started. Then this changes nothing.
      const giveUp = () => {
        clearTimeout(timer)
        this.#waiting = this.#waiting.filter((other) => other !== entry)
        resolve(false)
      }
      const timer = setTimeout(giveUp, relaxationTimeout.ms)
      signal.addEventListener('abort', giveUp, { once: true })
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
