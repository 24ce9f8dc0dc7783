// What an indexer knows about its index between two batches, and its record in the database.
import { type Kysely, sql, type Transaction } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import { type Lease, requireLease } from './indexer-lease.ts'
import { OutboxCursor, type OutboxRead } from './outbox.ts'

type Recorded = { db: Kysely<Tables>; registrationName: string; lease?: Lease | undefined }

export class OutboxProgress {
  readonly outbox: OutboxCursor
  /** Whether search_engines.is_writing may be true. A new indexer assumes that it is. */
  isWriting = true
  /** The newest task of the engine that is not recorded, -1 if there is none. */
  lastTask = -1
  /** Whether the table of products was truncated, which only a rebuild applies. */
  wasTruncated = false
  #recordedAt = Number.NEGATIVE_INFINITY

  constructor(db: Kysely<Tables>, registrationName: string) {
    this.outbox = new OutboxCursor(db, registrationName)
  }

  /**
   * Whether this indexer has recorded that it writes. It records that before its first task, so if
   * there is a task, `isWriting` is not just assumed.
   */
  hasRecordedWriting(): boolean {
    return this.isWriting && this.lastTask >= 0
  }

  /** Whether an idle indexer must record again that the index is up to date. */
  isRecordDue(): boolean {
    return performance.now() - this.#recordedAt > timeouts.indexing.idleRecord.ms
  }

  /** Must be called when a read of the outbox has been settled and recorded. */
  markSettled(read: OutboxRead): void {
    this.outbox.settle(read)
    if (!read.isComplete) return
    this.isWriting = false
    this.lastTask = -1
    this.#recordedAt = performance.now()
  }
}

/**
 * Records that the index may from now on contain changes that are not recorded. Until they are
 * recorded, no cached answer is used, and the engine may have newer tasks than the recorded one.
 */
export async function recordWriting(
  { db, registrationName, lease }: Recorded,
  progress: OutboxProgress,
  pending: number,
): Promise<void> {
  if (progress.hasRecordedWriting()) return
  await db.transaction().execute(async (transaction) => {
    if (lease) await requireLease(transaction, lease)
    await transaction
      .updateTable('search_engines')
      .set({ is_writing: true, pending })
      .where('name', '=', registrationName)
      .execute()
  })
  progress.isWriting = true
}

/** Returns when the engine accepted a task, by its clock; null if it does not know the task. */
export async function readTaskTime(engine: Meilisearch, task: number): Promise<string | null> {
  const { results } = await engine.tasks.getTasks({ from: task, limit: 1 })
  const [found] = results
  return found?.uid === task ? new Date(found.enqueuedAt).toISOString() : null
}

/** Returns the number of the newest change of the index's documents; -1 if there is none. */
export async function readNewestWrite(engine: Meilisearch, indexName: string): Promise<number> {
  const { results } = await engine.tasks.getTasks({
    indexUids: [indexName],
    types: ['documentAdditionOrUpdate', 'documentDeletion'],
    limit: 1,
  })
  return results[0]?.uid ?? -1
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
  task: { number: number; acceptedAt: string | null } | null,
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
