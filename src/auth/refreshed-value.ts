// A value from PostgreSQL that stays in memory, is read again while it is used, and survives an
// outage of PostgreSQL.
import type { FailureLog } from '../monitoring/log/failure-log.ts'

// Callers wait for it, so a database that hangs is treated as unreachable.
export const lookUpTimeout = { ms: 1_000 }
// Half of `waitAfter`, so a key in use never waits for PostgreSQL.
export const refreshAfter = { ms: 1_500 }
// Every process rejects a revoked key within 5 s. This and a look-up are shorter.
export const waitAfter = { ms: 3_000 }
// Searches continue during an outage that is repaired within 15 minutes.
export const discardAfter = { ms: 900_000 }

/**
 * Two ages count: that of the value, and that of the last finished query, whether or not it
 * succeeded. Both begin when their query began. `get` depends on the age of the query:
 *
 * | age of the query     | `get`                                            |
 * | -------------------- | ------------------------------------------------ |
 * | below `refreshAfter` | Returns the value.                               |
 * | from `refreshAfter`  | Returns the value, and starts to read it again.  |
 * | from `waitAfter`     | Waits for this query, and returns the new value. |
 *
 * In an outage, queries fail and `get` returns the old value. Once the value has the age
 * `discardAfter`, it is discarded. Then, and before the first value, `get` waits for a query and
 * rejects if that fails.
 */
export class RefreshedValue<Value> {
  readonly #read: () => Promise<Value>
  readonly #failures: FailureLog
  /** `readAt` is when the query that returned the value began, by performance.now(). */
  #latest: { value: Value; readAt: number } | null = null
  /** When the last finished query began, whether or not it failed. */
  #queriedAt = Number.NEGATIVE_INFINITY
  #query: Promise<Value> | null = null

  /** `read` must end in a short time, because callers of `get` may wait for it. */
  constructor(read: () => Promise<Value>, failures: FailureLog) {
    this.#read = read
    this.#failures = failures
  }

  /**
   * Returns null if `get` would start a query or wait for one. Otherwise returns the value in an
   * object, because the value itself may be null.
   */
  getFresh(): { value: Value } | null {
    const queryAgeMs = performance.now() - this.#queriedAt
    return queryAgeMs < refreshAfter.ms ? this.#getUsableValue() : null
  }

  async get(): Promise<Value> {
    const fresh = this.getFresh()
    if (fresh) return fresh.value
    const queryAgeMs = performance.now() - this.#queriedAt
    const latest = queryAgeMs < waitAfter.ms ? this.#getUsableValue() : null
    this.#query ??= this.#readAgain().finally(() => {
      this.#query = null
    })
    if (!latest) return this.#query
    // Nobody waits for the query, so nobody else handles its error. #readAgain has logged it.
    this.#query.catch(() => undefined)
    return latest.value
  }

  /** Returns the last value in an object, or null if there is none or it is discarded. */
  #getUsableValue(): { value: Value } | null {
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
      const latest = this.#getUsableValue()
      if (latest) return latest.value
      throw error
    } finally {
      this.#queriedAt = startedAt
    }
  }
}
