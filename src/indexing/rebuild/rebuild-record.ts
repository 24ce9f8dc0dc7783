// Records the start and the end of a rebuild in PostgreSQL, and the changes that its index needs.
import { sql, type Transaction } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import { deleteParkedDocuments, moveParkedDocuments } from '../documents/parked-documents.ts'
import type { EngineTask } from '../engine/engine-tasks.ts'
import { executeUnderLease } from '../indexer-lease.ts'
import type { LeasedTarget } from '../leased-target.ts'
import { deleteOutboxRows, emptySnapshot, type OutboxRow } from '../outbox.ts'
import { computeIndexShape } from './index-shape.ts'

/**
 * Returns the name under which outbox rows and parked documents of the new index are stored. No row
 * of search_engines has it.
 */
export const nextRegistrationName = (registrationName: string) => `${registrationName}~next`

/** `truncations`: outbox rows of truncations, which the rebuild covers. */
export type RebuildStart = { startedAt: Date; truncations: OutboxRow[] }

/**
 * Records the start of a rebuild. If there is no live index, the rebuild covers all pending rows,
 * and they are deleted. Throws LeaseLost.
 */
export async function recordRebuildStart(
  target: LeasedTarget,
  hasLiveIndex: boolean,
): Promise<RebuildStart> {
  const { registrationName } = target
  return executeUnderLease(target, async (transaction) => {
    const { startedAt } = await transaction
      .selectNoFrom(sql<Date>`clock_timestamp()`.as('startedAt'))
      .executeTakeFirstOrThrow()
    await deleteNextRows(transaction, registrationName)
    if (!hasLiveIndex) {
      await transaction
        .deleteFrom('product_changes')
        .where('engine', '=', registrationName)
        .execute()
      await transaction
        .updateTable('search_engines')
        .set({ indexed_at: null })
        .where('name', '=', registrationName)
        .execute()
    }
    const truncations = await transaction
      .selectFrom('product_changes')
      .select('id')
      .where('engine', '=', registrationName)
      .where('product_id', 'is', null)
      .execute()
    return { startedAt, truncations: truncations.map(({ id }) => ({ id, productId: null })) }
  })
}

type RebuildEnd = RebuildStart & { task: EngineTask; synonymsVersion: string }

/** Records that the new index is live. Keeps a request for a rebuild made after the start. */
export async function recordRebuildEnd(
  target: LeasedTarget,
  { startedAt, truncations, task, synonymsVersion }: RebuildEnd,
): Promise<void> {
  const { registrationName, indexName } = target
  await executeUnderLease(target, async (transaction) => {
    await deleteOutboxRows(transaction, registrationName, truncations)
    await moveParkedDocuments(transaction, {
      from: nextRegistrationName(registrationName),
      to: registrationName,
    })
    await sql`
      update search_engines set
        shape = ${computeIndexShape()},
        version = version + 1,
        last_task = ${task.number},
        last_task_at = ${task.acceptedAt},
        index_name = ${indexName},
        words = ${synonymsVersion},
        database_identity = database_identity(),
        is_writing = false,
        settled_snapshot = ${emptySnapshot}::pg_snapshot,
        pending = 0,
        indexed_at = greatest(indexed_at, ${startedAt}),
        rebuild_asked_at = case when rebuild_asked_at > ${startedAt} then rebuild_asked_at end
      where name = ${registrationName}
    `.execute(transaction)
  })
}

/** Deletes the outbox rows and parked documents of an unfinished rebuild. Throws LeaseLost. */
export async function deleteRebuildRecord(target: LeasedTarget): Promise<void> {
  // After another indexer has taken over, the rows may belong to its rebuild.
  await executeUnderLease(target, (transaction) =>
    deleteNextRows(transaction, target.registrationName),
  )
}

async function deleteNextRows(
  transaction: Transaction<Tables>,
  registrationName: string,
): Promise<void> {
  const nextName = nextRegistrationName(registrationName)
  await transaction.deleteFrom('product_changes').where('engine', '=', nextName).execute()
  await deleteParkedDocuments(transaction, nextName)
}
