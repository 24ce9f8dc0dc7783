// The transactions with which a rebuild starts and ends, and the removal of an unfinished one.
import { sql } from 'kysely'
import { deleteParkedDocuments, moveParkedDocuments } from '../documents/parked-documents.ts'
import {
  deleteIndex,
  type EngineTask,
  unfinishedStatuses,
  waitForSuccess,
} from '../engine/engine-tasks.ts'
import { type LiveTarget, nextIndexName, nextOutboxName } from '../index-address.ts'
import { executeUnderLease, type LeasedTransaction } from '../lease/indexer-lease.ts'
import { deleteOutboxRows } from '../outbox.ts'
import { markContentsUnknown, markRebuilt } from '../registration.ts'

type RebuildStart = {
  startedAt: Date
  /** The ids of the outbox rows of truncations. The rebuild covers them. */
  truncationIds: string[]
}

/**
 * Begins a rebuild: deletes the rows of an unfinished one. If there is no live index, the rebuild
 * covers all pending rows, and they are deleted too. Throws LeaseLost.
 */
export async function beginRebuild(
  { db, lease, registrationName }: LiveTarget,
  hasLiveIndex: boolean,
): Promise<RebuildStart> {
  return executeUnderLease(db, lease, async (transaction) => {
    const { startedAt } = await transaction
      .selectNoFrom(sql<Date>`clock_timestamp()`.as('startedAt'))
      .executeTakeFirstOrThrow()
    await deleteNextRows(transaction, registrationName)
    if (!hasLiveIndex) {
      await transaction
        .deleteFrom('index_outbox')
        .where('registration_name', '=', registrationName)
        .execute()
      await markContentsUnknown(transaction, registrationName)
    }
    const truncations = await transaction
      .selectFrom('index_outbox')
      .select('id')
      .where('registration_name', '=', registrationName)
      .where('product_id', 'is', null)
      .execute()
    return { startedAt, truncationIds: truncations.map(({ id }) => id) }
  })
}

type RebuildEnd = RebuildStart & { task: EngineTask; synonymsVersion: string }

/** Marks the new index as the live one. Throws LeaseLost. */
export async function finishRebuild(
  { db, lease, registrationName, indexName }: LiveTarget,
  { truncationIds, ...rebuilt }: RebuildEnd,
): Promise<void> {
  const truncations = truncationIds.map((id) => ({ id, productId: null }))
  await executeUnderLease(db, lease, async (transaction) => {
    await deleteOutboxRows(transaction, registrationName, truncations)
    await moveParkedDocuments(transaction, {
      from: nextOutboxName(registrationName),
      to: registrationName,
    })
    await markRebuilt(transaction, { registrationName, indexName }, rebuilt)
  })
}

/**
 * Deletes the outbox rows and parked documents of an unfinished rebuild of this live index. Throws
 * LeaseLost.
 */
export async function deleteRebuildRows({
  db,
  lease,
  registrationName,
}: LiveTarget): Promise<void> {
  // After another indexer has taken over, the rows may belong to its rebuild.
  await executeUnderLease(db, lease, (transaction) => deleteNextRows(transaction, registrationName))
}

async function deleteNextRows(
  transaction: LeasedTransaction,
  registrationName: string,
): Promise<void> {
  const nextName = nextOutboxName(registrationName)
  await transaction.deleteFrom('index_outbox').where('registration_name', '=', nextName).execute()
  await deleteParkedDocuments(transaction, nextName)
}

/**
 * Deletes the next index beside this live index, which an unfinished rebuild has left, and cancels
 * its tasks, which would delay every other task.
 */
export async function deleteNextIndex({
  client,
  taskClient,
  indexName,
}: LiveTarget): Promise<void> {
  const nextName = nextIndexName(indexName)
  const cancellation = client.tasks.cancelTasks({
    indexUids: [nextName],
    statuses: unfinishedStatuses,
  })
  await waitForSuccess(taskClient, cancellation)
  await deleteIndex(client, nextName)
}
