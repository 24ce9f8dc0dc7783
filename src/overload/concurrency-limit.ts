// Limits how many searches run at the same time and how many may wait. Also has the number of
// statistics, which src/stats/cache/stats-cache.ts limits, and the 503 problem of an overload.
import { buildProblemBody, Problem } from '../http/problem-details.ts'

// A burst is over by then, and queue plus engine take less than half a second.
export const queueTimeout = { ms: 100 }
// A long queue helps with a burst, but in lasting overload it makes every answer late.
export const recentRejection = { ms: 100 }

const retryAfterSeconds = 1

/** One shared object: creating an error costs more than the rest of a rejection. */
export const overloadedProblem = new Problem(
  'unavailable',
  'The service is overloaded. Try again in a moment.',
  { headers: { 'retry-after': String(retryAfterSeconds) }, skipErrorLog: true, reason: 'overload' },
)

/** The JSON body up to the request id, which is its last field. */
const bodyStart = JSON.stringify(buildProblemBody(overloadedProblem, '')).slice(0, -'""}'.length)

/** Returns the JSON body. It is ASCII, so its length is its size in bytes. */
export function serializeOverloadedProblem(requestId: string): string {
  return `${bodyStart}${JSON.stringify(requestId)}}`
}

type ConcurrencyOptions = { maxRunning: number; maxQueued: number }

/**
 * The maximum number of searches that one process runs at the same time. Running more would make
 * each answer slower, without more answers per second (docs/decisions.md).
 */
export const maxRunningSearches = 16
/** The maximum number of searches that wait for a running one, so a short burst is not rejected. */
export const maxQueuedSearches = 64
/**
 * The maximum number of searches that wait for a connection to PostgreSQL, which answers while the
 * engine is unavailable. More would wait longer than a search may take.
 */
export const maxQueuedFallbacks = 8
/** The maximum number of statistics that one process computes at the same time. Others wait. */
export const maxRunningStats = 4
/** Long enough that an operation waits whenever a running one ends, so no place stays unused. */
const maxQueuedInOverload = 4

/**
 * Runs operations in the order of their arrival. After a rejection the queue is short: four
 * operations. It is as long as configured again when no operation was rejected for 100 ms. In
 * lasting overload, a long queue would delay every answer and allow no more answers per second.
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
    const isOverloaded = now - this.#rejectedAt < recentRejection.ms
    const maxQueued = isOverloaded ? maxQueuedInOverload : this.#options.maxQueued
    if (this.#queue.length < maxQueued) return true
    this.#rejectedAt = now
    return false
  }

  /**
   * Runs the operation, which may wait in the queue for 100 ms and `extraWaitMs`. Throws a 503
   * problem if the queue is full or the wait is too long.
   */
  async run<Result>(
    operation: () => Promise<Result>,
    { extraWaitMs = 0 }: { extraWaitMs?: number } = {},
  ): Promise<Result> {
    if (this.#running < this.#options.maxRunning) this.#running += 1
    else if (this.hasCapacity()) await this.#waitInQueue(queueTimeout.ms + extraWaitMs)
    else throw overloadedProblem
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
        this.#rejectedAt = performance.now()
        reject(overloadedProblem)
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

  #startNext(): void {
    const next = this.#queue.shift()
    if (next) next.start()
    else this.#running -= 1
  }
}
