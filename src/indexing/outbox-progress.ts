// How far this indexer has applied the outbox, and what it has recorded of that.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import { markWriting } from './index-record.ts'
import { executeUnderLease, type Lease } from './indexer-lease.ts'
import { OutboxCursor, type OutboxRead } from './outbox.ts'

/**
 * One for each run of an indexer. The order of the calls is `read`, `recordWriting` if there are
 * changes, and `settle` when they have been applied and recorded.
 */
export class OutboxProgress {
  /** Whether the index has a record. The next index of a rebuild has none until it is live. */
  readonly hasRecord: boolean
  readonly #db: Kysely<Tables>
  readonly #lease: Lease
  readonly #registrationName: string
  readonly #cursor: OutboxCursor
  /** Whether this indexer has recorded `is_writing`, and no settled snapshot or rebuild since. */
  #isWritingRecorded = false
  /** When it has recorded a settled snapshot, and no `is_writing` or rebuild since. */
  #settledAt = Number.NEGATIVE_INFINITY
  #unrecordedTaskNumber: number | null = null
  #wasTruncated = false

  constructor(
    db: Kysely<Tables>,
    lease: Lease,
    registrationName: string,
    { hasRecord = true } = {},
  ) {
    this.#db = db
    this.#lease = lease
    this.#registrationName = registrationName
    this.hasRecord = hasRecord
    this.#cursor = new OutboxCursor(db, registrationName)
  }

  /** The number of the newest task of the engine that is not recorded; null if there is none. */
  get unrecordedTaskNumber(): number | null {
    return this.#unrecordedTaskNumber
  }

  /** Whether the last read found that products were truncated, which only a rebuild applies. */
  get wasTruncated(): boolean {
    return this.#wasTruncated
  }

  /** Whether an idle indexer must record again that the index is up to date. */
  isRecordDue(): boolean {
    return performance.now() - this.#settledAt > timeouts.indexing.idleRecord.ms
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
   * Records that the index may from now on contain changes that are not recorded. Until they are
   * recorded, no cached answer is used, and the engine may have newer tasks than the recorded one.
   * Does nothing if the index has no record.
   */
  async recordWriting(): Promise<void> {
    if (!this.hasRecord || this.#isWritingRecorded) return
    await executeUnderLease(this.#db, this.#lease, (transaction) =>
      markWriting(transaction, this.#registrationName),
    )
    this.#isWritingRecorded = true
    this.#settledAt = Number.NEGATIVE_INFINITY
  }

  /**
   * Must be called after the transaction that records a read. `taskNumber` is the newest task of
   * the engine, which a later transaction records if the read is not complete.
   */
  settle(read: OutboxRead, taskNumber: number | null): void {
    this.#cursor.settle(read)
    this.#unrecordedTaskNumber = read.isComplete ? null : taskNumber
    if (!read.isComplete) return
    this.#isWritingRecorded = false
    this.#settledAt = performance.now()
  }

  /**
   * Must be called after the transaction that records the end of a rebuild. That transaction also
   * records the task of the swap.
   */
  resetAfterRebuild(): void {
    this.#isWritingRecorded = false
    this.#settledAt = Number.NEGATIVE_INFINITY
    this.#unrecordedTaskNumber = null
  }
}
