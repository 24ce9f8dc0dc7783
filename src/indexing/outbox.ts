// Reads, deletes and adds the outbox rows of an index: one row for each changed product.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { type Lease, type LeasedTransaction, readLeaseLoss } from './lease.ts'

/** A row of the outbox. `productId` is null for a truncation. */
type OutboxRow = { id: string; productId: string | null }

type ProductChange = OutboxRow & { productId: string }

export type OutboxRead = {
  /** Ordered by (xid, id). */
  changes: ProductChange[]
  /** Whether the table of products was truncated, which requires a rebuild. */
  hasTruncation: boolean
  /** Whether somebody requested a rebuild that has not been completed. */
  isRebuildRequested: boolean
  /** Whether the index contains every change that this read sees, once these are applied. */
  hasReachedEnd: boolean
  /** The next `settled_before`, if the read is complete. */
  endedBefore: string
  /** Every change committed before this instant is visible to the read. */
  readAt: Date
}

/**
 * Reads at most `limit` pending rows of an index (`settled_before` in 40-search-index.sql). They are
 * returned again until they are deleted.
 */
export async function readOutbox(
  db: Kysely<Tables>,
  registrationName: string,
  limit: number,
): Promise<OutboxRead> {
  const { rows: results } = await sql<{
    endedBefore: string
    readAt: Date
    isRebuildRequested: boolean
    rows: OutboxRow[] | null
  }>`
    with pending as (
      select id, xid, product_id from index_outbox
      where registration_name = ${registrationName} and xid >= coalesce(
        (select settled_before from search_indexes where registration_name = ${registrationName}),
        '0'
      )
      order by xid, id limit ${limit}
    )
    select pg_snapshot_xmin(pg_current_snapshot())::text as "endedBefore", now() as "readAt",
      exists (
        select from search_indexes
        where registration_name = ${registrationName} and rebuild_requested_at is not null
      ) as "isRebuildRequested", (
      select json_agg(
        json_build_object('id', id::text, 'productId', product_id::text) order by xid, id
      ) from pending
    ) as rows
  `.execute(db)
  const [result] = results
  if (!result) throw new Error('PostgreSQL returned no row')
  const { endedBefore, readAt, isRebuildRequested } = result
  const rows = result.rows ?? []
  const changes = rows.filter((row): row is ProductChange => row.productId !== null)
  const hasTruncation = changes.length < rows.length
  const hasReachedEnd = rows.length < limit && !hasTruncation
  return { changes, hasTruncation, isRebuildRequested, hasReachedEnd, endedBefore, readAt }
}

/** Stands for the missing product id of a truncation's row. No product has this id. */
const idOfTruncation = '-1'

/**
 * Deletes exactly these rows of the index. After a failover that lost commits, other rows may have
 * their ids, so index and product must be the same too.
 */
export async function deleteOutboxRows(
  transaction: LeasedTransaction,
  registrationName: string,
  rows: OutboxRow[],
): Promise<void> {
  if (rows.length === 0) return
  const rowIds = rows.map(({ id }) => id)
  const productIds = [...new Set(rows.map(({ productId }) => productId ?? idOfTruncation))]
  await sql`
    delete from index_outbox
    where id = any(${rowIds}::bigint[]) and registration_name = ${registrationName}
      and coalesce(product_id, ${idOfTruncation}) = any(${productIds}::bigint[])
  `.execute(transaction)
}

/** Adds an outbox row for each of these products, as a change of the product would. */
export async function queueProducts(
  db: Kysely<Tables>,
  registrationName: string,
  productIds: string[],
): Promise<void> {
  await sql`
    insert into index_outbox (registration_name, product_id)
    select ${registrationName}, unnest(${productIds}::bigint[])
  `.execute(db)
}

/**
 * Queues again what an indexer has sent since its lease was last known to be held, if the lease is
 * lost: the engine may have applied these documents after newer ones of the indexer that took over.
 * Its changes also reach an index that it is building.
 */
export async function queueLateWrites(db: Kysely<Tables>, lease: Lease): Promise<void> {
  const { sentIds, registrationName } = lease
  if (sentIds.size > 0 && (await readLeaseLoss(db, lease)))
    await queueProducts(db, registrationName, [...sentIds])
}
