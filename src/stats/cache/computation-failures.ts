// Logs that statistics cannot be computed, once per cause, and that they can be again. A request
// that gets older statistics does not report it. Statistics that have not changed are not computed
// again, so after an outage the recovery is logged only when others are computed.
import { LRUCache } from 'lru-cache'
import { FailureLog, type TaskLog } from '../../monitoring/log/failure-log.ts'

// Some requests may succeed while others fail. The log must not call this a recovery.
const failureMemoryMs = 60_000

const maxFailingKeys = 500

/**
 * Remembers which requests fail. A defect can concern some requests only, such as those with
 * `by=customer`. The success of the others must not be logged as a recovery.
 */
export class ComputationFailures {
  readonly #log: FailureLog
  readonly #failingKeys = new LRUCache<string, true>({
    max: maxFailingKeys,
    ttl: failureMemoryMs,
  })

  constructor(log: TaskLog) {
    this.#log = new FailureLog(log, {
      failure: (cause) =>
        `Statistics cannot be computed (${cause}): requests get older ones or an error`,
      recovery: 'Statistics can be computed again',
    })
  }

  /** `key` is the cache key of the request. */
  recordFailure(key: string, error: unknown): void {
    this.#failingKeys.set(key, true)
    this.#log.logFailure(error)
  }

  recordSuccess(key: string): void {
    if (!this.#log.isFailing()) return
    this.#failingKeys.delete(key)
    this.#failingKeys.purgeStale()
    if (this.#failingKeys.size === 0) this.#log.logSuccess()
  }
}
