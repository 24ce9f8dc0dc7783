// How far this indexer has applied the outbox of an index, and what the registration says of that.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import { executeUnderLease, type Lease } from './indexer-lease.ts'
import { OutboxCursor, type OutboxRead } from './outbox.ts'
import { markWriting } from './registration.ts'

/**
 * One for each run of an indexer, and one for the next index of each rebuild. The order of the
 * calls is `read`, `markWriting` if there are changes, and `settle` when they have been applied and
 * their rows deleted.
 */
export class OutboxProgress {
  /** The name of the outbox rows and parked documents of this index: see index-address.ts. */
  readonly outboxName: string
  readonly #db: Kysely<Tables>
  readonly #lease: Lease
  readonly #cursor: OutboxCursor
  /** True from the call of markWriting until the next settled read or rebuild. */
  #isMarkedAsWriting = false
  /**
   * When this indexer last marked the index as settled; minus infinity if it has begun to write, or
   * has rebuilt the index, since then.
   */
  #settledAt = Number.NEGATIVE_INFINITY
  #unsavedTaskNumber: number | null = null
  #wasTruncated = false

  constructor(db: Kysely<Tables>, lease: Lease, outboxName: string = lease.registrationName) {
    this.#db = db
    this.#lease = lease
    this.outboxName = outboxName
    this.#cursor = new OutboxCursor(db, outboxName)
  }

  /**
   * Whether the index has a registration. The next index of a rebuild has none until it is live.
   */
  get isLive(): boolean {
    return this.outboxName === this.#lease.registrationName
  }

  /**
   * The newest task of the engine that the registration does not contain; null if there is none.
   */
  get unsavedTaskNumber(): number | null {
    return this.#unsavedTaskNumber
  }

  /** Whether the last read found that products were truncated, which only a rebuild applies. */
  get wasTruncated(): boolean {
    return this.#wasTruncated
  }

  /**
   * Whether an idle indexer must mark the index as settled again, so that its lag stays correct.
   */
  isSettledMarkDue(): boolean {
    return performance.now() - this.#settledAt > timeouts.indexing.settledMark.ms
  }

  /** Reads at most `limit` outbox rows. They are returned again until they are settled. */
  async read(limit: number): Promise<OutboxRead> {
    const read = await this.#cursor.read(limit)
    this.#wasTruncated = read.hasTruncation
    return read
  }

  /** Whether changes of products are not settled. Truncations do not count. */
  hasChanges(): Promise<boolean> {
    return this.#cursor.hasChanges()
  }

  /**
   * Marks the registration: from now on the index may contain changes that the settled snapshot
   * does not see. Until the index is settled, no cached answer is used, and the engine may have
   * newer tasks than the registration. Does nothing for the next index, which has no registration.
   */
  async markWriting(): Promise<void> {
    if (!this.isLive || this.#isMarkedAsWriting) return
    await executeUnderLease(this.#db, this.#lease, (transaction) =>
      markWriting(transaction, this.#lease.registrationName),
    )
    this.#isMarkedAsWriting = true
    this.#settledAt = Number.NEGATIVE_INFINITY
  }

  /**
   * Must be called after the transaction that deletes the rows of this read. `taskNumber` is the
   * newest task of the engine. If the read is not complete, a later transaction stores the task.
   */
  settle(read: OutboxRead, taskNumber: number | null): void {
    this.#cursor.settle(read)
    this.#unsavedTaskNumber = read.isComplete ? null : taskNumber
    if (!read.isComplete) return
    this.#isMarkedAsWriting = false
    this.#settledAt = performance.now()
  }

  /**
   * Must be called after the transaction that ends a rebuild. That transaction also stores the task
   * of the swap.
   */
  resetAfterRebuild(): void {
    this.#isMarkedAsWriting = false
    this.#settledAt = Number.NEGATIVE_INFINITY
    this.#unsavedTaskNumber = null
  }
}
