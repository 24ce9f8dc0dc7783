// Records the start and the end of a rebuild in PostgreSQL, and the changes that its index needs.
import { sql, type Transaction } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import type { SyncTarget } from '../change-sync.ts'
import { deleteParkedDocuments, moveParkedDocuments } from '../documents/parked-documents.ts'
import { requireLease } from '../indexer-lease.ts'
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
  { db, registrationName, lease }: SyncTarget,
  hasLiveIndex: boolean,
): Promise<RebuildStart> {
  return db.transaction().execute(async (transaction) => {
    if (lease) await requireLease(transaction, lease)
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

/** A task of the engine and when the engine accepted it, by its clock. */
export type EngineTask = { number: number; acceptedAt: string | null }

type RebuildEnd = RebuildStart & { task: EngineTask; synonymsVersion: string }

/** Records that the new index is live. Keeps a request for a rebuild made after the start. */
export async function recordRebuildEnd(
  { db, registrationName, indexName, lease }: SyncTarget,
  { startedAt, truncations, task, synonymsVersion }: RebuildEnd,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    if (lease) await requireLease(transaction, lease)
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
export async function deleteRebuildRecord({
  db,
  registrationName,
  lease,
}: SyncTarget): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    // After another indexer has taken over, the rows may belong to its rebuild.
    if (lease) await requireLease(transaction, lease)
    await deleteNextRows(transaction, registrationName)
  })
}

async function deleteNextRows(
  transaction: Transaction<Tables>,
  registrationName: string,
): Promise<void> {
  const nextName = nextRegistrationName(registrationName)
  await transaction.deleteFrom('product_changes').where('engine', '=', nextName).execute()
  await deleteParkedDocuments(transaction, nextName)
}
