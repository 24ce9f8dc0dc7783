// How far an indexer has applied the outbox, in memory and in the database.
import { type Kysely, sql, type Transaction } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import { type EngineTask, maxTaskNumber } from './engine/engine-tasks.ts'
import { executeUnderLease, type Lease } from './indexer-lease.ts'
import { OutboxCursor, type OutboxRead } from './outbox.ts'

/** One for each run of an indexer: it knows nothing of what others have written. */
export class OutboxProgress {
  readonly outbox: OutboxCursor
  #isWriting = true
  #unrecordedTaskNumber: number | null = null
  #wasTruncated = false
  #recordedAt = Number.NEGATIVE_INFINITY

  constructor(db: Kysely<Tables>, registrationName: string) {
    this.outbox = new OutboxCursor(db, registrationName)
  }

  /** Whether search_engines.is_writing may be true. A new indexer assumes that it is. */
  get isWriting(): boolean {
    return this.#isWriting
  }

  /** The number of the newest task of the engine that is not recorded; null if there is none. */
  get unrecordedTaskNumber(): number | null {
    return this.#unrecordedTaskNumber
  }

  /** Whether the table of products was truncated, which only a rebuild applies. */
  get wasTruncated(): boolean {
    return this.#wasTruncated
  }

  /**
   * Whether this indexer has recorded that it writes. It records that before its first task, so if
   * there is a task, `isWriting` is not just assumed.
   */
  hasRecordedWriting(): boolean {
    return this.#isWriting && this.#unrecordedTaskNumber !== null
  }

  /** Whether an idle indexer must record again that the index is up to date. */
  isRecordDue(): boolean {
    return performance.now() - this.#recordedAt > timeouts.indexing.idleRecord.ms
  }

  /** Must be called when a batch has been read: whether it contained a truncation. */
  noteTruncation(wasTruncated: boolean): void {
    this.#wasTruncated = wasTruncated
  }

  /** Must be called when the engine has ended tasks, with the highest number; null without any. */
  noteTask(taskNumber: number | null): void {
    this.#unrecordedTaskNumber = maxTaskNumber([this.#unrecordedTaskNumber, taskNumber])
  }

  /** Must be called when `is_writing` has been recorded. */
  markWriting(): void {
    this.#isWriting = true
  }

  /** Must be called when a rebuild has swapped the indexes and recorded its own task. */
  markSwapped(): void {
    this.#unrecordedTaskNumber = null
  }

  /** Must be called when a read of the outbox has been settled and recorded. */
  markSettled(read: OutboxRead): void {
    this.outbox.settle(read)
    if (!read.isComplete) return
    this.#isWriting = false
    this.#unrecordedTaskNumber = null
    this.#recordedAt = performance.now()
  }
}

/** The members of a LeasedTarget (leased-target.ts) that are needed to record its progress. */
type RecordTarget = {
  db: Kysely<Tables>
  registrationName: string
  lease: Lease
  progress: OutboxProgress
}

/**
 * Records that the index may from now on contain changes that are not recorded. Until they are
 * recorded, no cached answer is used, and the engine may have newer tasks than the recorded one.
 */
export async function recordWriting(
  target: RecordTarget,
  { pending }: { pending: number },
): Promise<void> {
  const { registrationName, progress } = target
  if (progress.hasRecordedWriting()) return
  await executeUnderLease(target, async (transaction) => {
    await transaction
      .updateTable('search_engines')
      .set({ is_writing: true, pending })
      .where('name', '=', registrationName)
      .execute()
  })
  progress.markWriting()
}

/**
 * Records that the index contains every change that the snapshot of a complete read sees, and the
 * newest task of the engine. Gives the contents a new version if they may have changed. While the
 * index is being compared after a failover, it may still contain lost changes. Until the comparison
 * is complete, `is_writing` stays true and the instant does not change, even if an indexer starts
 * over.
 */
export async function recordSettled(
  transaction: Transaction<Tables>,
  registrationName: string,
  { snapshot, readAt }: OutboxRead,
  task: EngineTask | null,
): Promise<void> {
  await sql`
    update search_engines set
      version = version + is_writing::int,
      is_writing = ${isUncompared},
      pending = 0,
      settled_snapshot = ${snapshot}::pg_snapshot,
      indexed_at = case when ${isUncompared} then indexed_at
        else greatest(indexed_at, ${readAt}) end
      ${task ? sql`, last_task = ${task.number}, last_task_at = ${task.acceptedAt}` : sql``}
    where name = ${registrationName}
  `.execute(transaction)
}

const isUncompared = sql`coalesce(database_identity <> database_identity(), false)`
