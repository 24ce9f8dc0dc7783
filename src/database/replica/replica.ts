// Reads statistics and quote documents from a replica, and checks whether it can be used.
import type { Kysely } from 'kysely'
import pTimeout from 'p-timeout'
import { replicaReadMs } from '../postgres-pool.ts'
import type { Tables } from '../table-types.ts'
import { PrimaryHistory } from './primary-history.ts'
import {
  type ReplicaState,
  type ReplicaStatus,
  readReplicaState,
  replicaStatusOf,
} from './replica-state.ts'

// The check is one cheap query. Until it fails, reads wait for a broken replica.
const replicaCheckMs = 1_000
// The same as for health checks. A busy process must not take it for an outage.
const replicaAnswerMs = 1_000
// Reads and the log must not change with each check of a replica that just keeps up.
const replicaReturnMs = 3_000
// A replica that is slow fails a read every three seconds. A metric counts all.
const replicaReadLogMs = 60_000

/** What is read from the replica if possible. */
type ReplicaRead = 'statistics' | 'document'
/** `used`: the replica was read. Otherwise the primary was read instead. */
type ReplicaReadOutcome = 'used' | 'behind' | 'failed'

export type ReplicaObserver = {
  setReplicaStatus(status: ReplicaStatus): void
  /** `lagSeconds`: the time since a moment whose commits the replica contains. */
  setReplicaLag(lagSeconds: number): void
  countReplicaRead(read: ReplicaRead, outcome: ReplicaReadOutcome): void
}

type Log = { info(text: string): void; warn(details: object, text: string): void }

type ReplicaOptions = { log: Log; observer: ReplicaObserver }

/**
 * Two, because one failed check may be the fault of this process. Not more, because until then each
 * failed read costs half a second.
 */
const failedChecksOfOutage = 2

/** What a status means for an operator. */
const meanings: Record<Exclude<ReplicaStatus, 'unknown' | 'up'>, string> = {
  behind: 'it is too far behind',
  unreachable: 'it does not respond',
  promoted: 'it is a primary',
  'other database': 'it is not a replica of the database in DATABASE_URL',
  'other timeline': 'it has not reached a checkpoint after the last failover, or follows another',
  ahead: 'it contains what the primary does not: one of them was restored from a copy',
}

export class Replica {
  /** Recent states of the primary. The poller of the data version adds them. */
  readonly history = new PrimaryHistory()
  readonly db: Kysely<Tables>
  readonly #log: Log
  readonly #observer: ReplicaObserver
  #status: ReplicaStatus = 'unknown'
  #state: ReplicaState | null = null
  #containedAt = performance.now()
  #failedChecks = 0
  /** Since when every check has found the replica up. */
  #upSince: number | null = null
  /** A replica may respond to checks and be too slow for reads. */
  #pausedUntil = 0
  #readFailureLoggedAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #check: Promise<void> = Promise.resolve()
  #isStopped = false

  /** `db` is connected to the replica. Close it after `stop()`. */
  constructor(db: Kysely<Tables>, { log, observer }: ReplicaOptions) {
    this.db = db
    this.#log = log
    this.#observer = observer
    observer.setReplicaStatus('unknown')
  }

  start(): void {
    this.#check = this.#checkOnce().finally(() => {
      if (this.#isStopped) return
      this.#timer = setTimeout(() => this.start(), replicaCheckMs).unref()
    })
  }

  /** Ends the checks and waits for the one that is running. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#check
  }

  /** Whether the last checks found the replica up, and no read has just failed. */
  isUsable(): boolean {
    return this.#status === 'up' && performance.now() >= this.#pausedUntil
  }

  /**
   * Returns what `read` reads from the replica. Returns null if the replica is not usable, does not
   * contain what is needed (`read` returned null), fails, or takes too long. Then read the primary.
   * Set `isOnlySource` if the primary does not respond. The pause after a failed read is then
   * ignored.
   */
  async read<Result>(
    what: ReplicaRead,
    read: () => Promise<Result | null>,
    { isOnlySource = false } = {},
  ): Promise<Result | null> {
    if (!(isOnlySource ? this.#status === 'up' : this.isUsable())) return null
    try {
      const result = await withTimeout(read(), replicaReadMs)
      this.#countRead(what, result === null ? 'behind' : 'used')
      return result
    } catch (error) {
      this.#countRead(what, 'failed')
      this.#logFailedRead(what, error)
      return null
    }
  }

  /** Counts a read. After a failed one, reads pause. */
  #countRead(what: ReplicaRead, outcome: ReplicaReadOutcome): void {
    this.#observer.countReplicaRead(what, outcome)
    if (outcome === 'failed') this.#pausedUntil = performance.now() + replicaReturnMs
  }

  /** Logs one failed read a minute, because checks may succeed while reads are too slow. */
  #logFailedRead(read: ReplicaRead, error: unknown): void {
    const now = performance.now()
    if (now - this.#readFailureLoggedAt < replicaReadLogMs) return
    this.#readFailureLoggedAt = now
    this.#log.warn({ read, err: error }, 'reading the replica failed. The primary is read instead')
  }

  async #checkOnce(): Promise<void> {
    const earlier = this.#state
    let cause: unknown
    try {
      this.#state = await withTimeout(readReplicaState(this.db), replicaAnswerMs)
      this.#failedChecks = 0
    } catch (error) {
      this.#state = null
      this.#failedChecks += 1
      cause = error
    }
    if (this.#isStopped) return
    this.#measureLag()
    if (this.#state)
      this.#setStatus(this.#delayReturn(replicaStatusOf(this.#state, earlier, this.history)))
    else if (this.#failedChecks >= failedChecksOfOutage)
      this.#setStatus(this.#delayReturn('unreachable'), cause)
  }

  /** Returns the old status while the replica has not been up for long enough. */
  #delayReturn(status: ReplicaStatus): ReplicaStatus {
    if (status !== 'up') {
      this.#upSince = null
      return status
    }
    this.#upSince ??= performance.now()
    const upMs = performance.now() - this.#upSince
    const mayReturn = this.#status === 'unknown' || upMs >= replicaReturnMs
    return mayReturn ? 'up' : this.#status
  }

  #setStatus(status: ReplicaStatus, cause?: unknown): void {
    if (status === this.#status) return
    this.#status = status
    this.#observer.setReplicaStatus(status)
    if (status === 'up') this.#log.info('statistics and quote documents are read from the replica')
    else if (status !== 'unknown')
      this.#log.warn(
        { status, ...(cause !== undefined && { err: cause }) },
        `the replica is not used: ${meanings[status]}. The primary is read instead`,
      )
  }

  #measureLag(): void {
    const contained = this.#state && this.history.latestContainedIn(this.#state)
    if (contained) this.#containedAt = Math.max(this.#containedAt, contained.readAt)
    this.#observer.setReplicaLag((performance.now() - this.#containedAt) / 1_000)
  }
}

function withTimeout<Result>(promise: Promise<Result>, milliseconds: number): Promise<Result> {
  return pTimeout(promise, { milliseconds })
}
