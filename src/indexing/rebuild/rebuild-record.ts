// What PostgreSQL knows of an index that is being built: when that began, what is pending for it, and that it is done.
import { sql, type Transaction } from 'kysely'
import type { Tables } from '../../database/table-types.ts'
import type { SyncTarget } from '../change-sync.ts'
import { requireLease } from '../indexer-lease.ts'
import { indexShape } from './rebuild-reason.ts'

/** The new index has pending rows of its own, under this name: what is put into the live one meanwhile. */
export const nextName = ({ engineName }: SyncTarget) => `${engineName}~next`

export type Start = { startedAt: Date; truncations: string[] }

/** Notes when the build begins and what it covers. Without a live index to follow, everything pending so far is covered by it. */
export async function begin(live: SyncTarget, isReplacing: boolean): Promise<Start> {
  const { db, engineName, lease } = live
  return db.transaction().execute(async (transaction) => {
    if (lease) await requireLease(transaction, lease)
    const { startedAt } = await transaction
      .selectNoFrom(sql<Date>`clock_timestamp()`.as('startedAt'))
      .executeTakeFirstOrThrow()
    await forgetQueue(transaction, live)
    if (!isReplacing) {
      await transaction.deleteFrom('product_changes').where('engine', '=', engineName).execute()
      await transaction
        .updateTable('search_engines')
        .set({ indexed_at: null })
        .where('name', '=', engineName)
        .execute()
    }
    const truncations = await transaction
      .selectFrom('product_changes')
      .select('id')
      .where('engine', '=', engineName)
      .where('product_id', 'is', null)
      .execute()
    return { startedAt, truncations: truncations.map((row) => row.id) }
  })
}

export async function finish(
  live: SyncTarget,
  { startedAt, truncations, lastTask }: Start & { lastTask: number },
) {
  const { db, engineName, lease } = live
  await db.transaction().execute(async (transaction) => {
    if (lease) await requireLease(transaction, lease)
    await sql`delete from product_changes where id = any(${truncations}::bigint[])`.execute(
      transaction,
    )
    await transaction.deleteFrom('parked_documents').where('engine', '=', engineName).execute()
    await transaction
      .updateTable('parked_documents')
      .set({ engine: engineName })
      .where('engine', '=', nextName(live))
      .execute()
    await sql`
      update search_engines set shape = ${indexShape()}, version = version + 1, last_task = ${lastTask}, indexed_at = greatest(indexed_at, ${startedAt}),
        rebuild_asked_at = case when rebuild_asked_at > ${startedAt} then rebuild_asked_at end
      where name = ${engineName}
    `.execute(transaction)
  })
}

async function forgetQueue(transaction: Transaction<Tables>, live: SyncTarget): Promise<void> {
  await transaction.deleteFrom('product_changes').where('engine', '=', nextName(live)).execute()
  await transaction.deleteFrom('parked_documents').where('engine', '=', nextName(live)).execute()
}

/** Forgets what was queued and parked for an index that is not finished any more. Throws LeaseLost where that may be another indexer's. */
export async function forgetBuild(live: SyncTarget): Promise<void> {
  await live.db.transaction().execute(async (transaction) => {
    if (live.lease) await requireLease(transaction, live.lease)
    await forgetQueue(transaction, live)
  })
}
