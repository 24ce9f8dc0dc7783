// A value from PostgreSQL that stays in memory, is read again while it is used, and survives an
// outage of PostgreSQL.
import type { FailureLog } from '../monitoring/log/failure-log.ts'
import { timeouts } from '../timeouts.ts'

const { discardAfter, refreshAfter, waitAfter } = timeouts.auth

/**
 * What `get` does depends on the time since the last finished query began. It does not matter
 * whether that query succeeded.
 *
 * | time                 | `get`                                            |
 * | -------------------- | ------------------------------------------------ |
 * | below `refreshAfter` | Returns the value.                               |
 * | from `refreshAfter`  | Returns the value, and starts to read it again.  |
 * | from `waitAfter`     | Waits for this query, and returns the new value. |
 *
 * If the query fails, `get` returns the old value. Once `discardAfter` has passed since the last
 * successful query began, the old value is discarded. Then `get` waits for a query, and rejects if
 * that fails. So it does before the first value.
 */
export class RefreshedValue<Value> {
  readonly #read: () => Promise<Value>
  readonly #failures: FailureLog
  /** `readAt` is when the query that returned the value began, by performance.now(). */
  #latest: { value: Value; readAt: number } | null = null
  /** When the last finished query began, whether or not it failed. */
  #queriedAt = Number.NEGATIVE_INFINITY
  /** The query that is running. */
  #query: Promise<Value> | null = null

  /** `read` must end in a short time, because callers of `get` may wait for it. */
  constructor(read: () => Promise<Value>, failures: FailureLog) {
    this.#read = read
    this.#failures = failures
  }

  /** Returns the value in an object, or null if `get` would start a query or wait for one. */
  getFresh(): { value: Value } | null {
    const queryAgeMs = performance.now() - this.#queriedAt
    return queryAgeMs < refreshAfter.ms ? this.#findUndiscarded() : null
  }

  async get(): Promise<Value> {
    const fresh = this.getFresh()
    if (fresh) return fresh.value
    const queryAgeMs = performance.now() - this.#queriedAt
    const latest = queryAgeMs < waitAfter.ms ? this.#findUndiscarded() : null
    this.#query ??= this.#readAgain().finally(() => {
      this.#query = null
    })
    if (!latest) return this.#query
    // Nobody waits for the query, so nobody else handles its error. #readAgain has logged it.
    this.#query.catch(() => undefined)
    return latest.value
  }

  /** Returns the last value in an object, or null if there is none or it is discarded. */
  #findUndiscarded(): { value: Value } | null {
    const latest = this.#latest
    return latest && performance.now() - latest.readAt < discardAfter.ms ? latest : null
  }

  /**
   * Any error counts as an outage, including a missing database permission. Otherwise a defect
   * would fail every request at once.
   */
  async #readAgain(): Promise<Value> {
    const startedAt = performance.now()
    try {
      const value = await this.#read()
      this.#failures.logSuccess()
      this.#latest = { value, readAt: startedAt }
      return value
    } catch (error) {
      this.#failures.logFailure(error)
      const latest = this.#findUndiscarded()
      if (latest) return latest.value
      throw error
    } finally {
      this.#queriedAt = startedAt
    }
  }
}
