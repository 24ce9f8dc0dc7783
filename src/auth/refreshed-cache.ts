// A cache of what PostgreSQL holds. What is used is read again, and survives an outage.
import { LRUCache } from 'lru-cache'
import pTimeout from 'p-timeout'
import type { FailureLog } from '../monitoring/log/failure-log.ts'

// Callers wait for it, so a database that hangs is treated as unreachable.
export const lookUpTimeout = { ms: 1_000 }
// Half of `waitAfterMs`, so a value in use never waits for PostgreSQL.
const refreshAfterMs = 1_500
// Every process rejects a revoked key within 5 s. This and a look-up are shorter.
const waitAfterMs = 3_000
// Searches continue during an outage that is repaired within 15 minutes.
export const discardAfter = { ms: 900_000 }

export type RefreshedCache<Value> = {
  /** Returns a value that need not be read now. Synchronous, because awaiting slows a request. */
  getFresh(key: string): Value | undefined
  /** Returns the last value, of any age. */
  getLast(key: string): Value | undefined
  /**
   * Returns a value that is at most `waitAfterMs` old, or older while PostgreSQL cannot be read,
   * up to `discardAfter`. Simultaneous calls share a query. Throws the error of `read` if there is
   * no such value.
   */
  get(key: string): Promise<Value>
}

/**
 * `read` gets `isNew` if the cache has no value of the key. Any error counts as an outage,
 * including a missing permission. Otherwise a defect would fail every request at once. Its result
 * is waited for up to `lookUpTimeout`; PostgreSQL cancels the statement later.
 */
export function createRefreshedCache<Value>(
  maxEntries: number,
  failures: FailureLog,
  read: (key: string, isNew: boolean) => Promise<Value>,
): RefreshedCache<Value> {
  const entries = new LRUCache<string, { value: Value; readAt: number }>({
    max: maxEntries,
    ttl: refreshAfterMs,
    noDeleteOnStaleGet: true,
    // Who waits for a value gets it, even if the cache has no more room for it.
    ignoreFetchAbort: true,
    async fetchMethod(key, last) {
      const readAt = performance.now()
      try {
        const value = await pTimeout(read(key, last === undefined), {
          milliseconds: lookUpTimeout.ms,
          message: 'PostgreSQL did not answer in time',
        })
        failures.logSuccess()
        return { value, readAt }
      } catch (error) {
        failures.logFailure(error)
        if (last && readAt - last.readAt < discardAfter.ms) return last
        throw error
      }
    },
  })
  return {
    getFresh: (key) => entries.get(key)?.value,
    getLast: (key) => entries.peek(key, { allowStale: true })?.value,
    async get(key) {
      const staleMs = -entries.getRemainingTTL(key)
      const allowStale = staleMs < waitAfterMs - refreshAfterMs
      return (await entries.forceFetch(key, { allowStale })).value
    },
  }
}
