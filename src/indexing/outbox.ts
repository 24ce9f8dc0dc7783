// Reads, deletes and adds the outbox rows of an engine: one row for each changed product.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql, type Transaction } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import type { Lease } from './indexer-lease.ts'

/** `productId` is null if the table of products was truncated, which requires a rebuild. */
export type OutboxRow = { id: string; productId: string | null }

/** Returns the oldest `limit` rows of this engine. */
export async function readOutboxRows(
  db: Kysely<Tables>,
  engineName: string,
  limit: number,
): Promise<OutboxRow[]> {
  return db
    .selectFrom('product_changes')
    .select(['id', 'product_id as productId'])
    .where('engine', '=', engineName)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Whether changes of products are pending for this engine. */
export async function hasPendingChanges(db: Kysely<Tables>, engineName: string): Promise<boolean> {
  const row = await db
    .selectFrom('product_changes')
    .select('id')
    .where('engine', '=', engineName)
    .where('product_id', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Deletes exactly these rows. */
export async function deleteOutboxRows(
  transaction: Transaction<Tables>,
  rowIds: string[],
): Promise<void> {
  await sql`delete from product_changes where id = any(${rowIds}::bigint[])`.execute(transaction)
}

/** Adds an outbox row for each of these products, as a change of the product would. */
export async function queueProducts(
  db: Kysely<Tables>,
  engineName: string,
  productIds: string[],
): Promise<void> {
  await sql`
    insert into product_changes (engine, product_id)
    select ${engineName}, unnest(${productIds}::bigint[])
  `.execute(db)
}

const requeueAttempts = 20

/**
 * Queues these products again if the lease is lost, and returns whether it is. The engine may have
 * applied their documents after newer ones of the indexer that took over. They are queued for the
 * live index, whose changes also reach an index that is being rebuilt. Makes 20 attempts, 500 ms
 * apart, while PostgreSQL is unreachable.
 */
export async function requeueIfLeaseLost(
  db: Kysely<Tables>,
  { engineName, fencingToken }: Lease,
  productIds: string[],
): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      const current = await db
        .selectFrom('indexer_leases')
        .select('fence')
        .where('engine', '=', engineName)
        .executeTakeFirst()
      const isLost = current?.fence !== fencingToken
      if (isLost) await queueProducts(db, engineName, productIds)
      return isLost
    } catch (error) {
      if (attempt === requeueAttempts) throw error
      await sleep(timeouts.indexing.requeueRetry.ms)
    }
  }
}
