// Reads the status of indexes: how far they are behind the catalogue, and who indexes.
import { type Kysely, sql } from 'kysely'
import { isOfThisDatabase } from '../database/database-identity.ts'
import type { Tables } from '../database/table-types.ts'
import { isSettledCondition } from '../search-engine/index-states.ts'

type IndexLag = {
  registrationName: string
  /** The index contains every change up to this instant. Null if there is no index. */
  indexedAt: Date | null
  /** The age of `indexedAt` in seconds; 0 if no change is pending, null if there is no index. */
  lagSeconds: number | null
  /**
   * The number of pending changes, with those that are being written. Counting stops at 100,000.
   */
  pendingCount: number
  /** The number of parked documents. Counting stops at 10,000. */
  parkedCount: number
  /** The indexer that holds the lease; null if none does. */
  holder: string | null
  rebuildRequestedAt: Date | null
}

type ParkedDocument = {
  productId: string
  /** Null if the product has been deleted. */
  sku: string | null
  reason: string
  parkedAt: Date
}

export type IndexStatus = IndexLag & {
  /** At most ten. */
  oldestParked: ParkedDocument[]
}

/** Counting this many takes about 30 ms. Health checks and metrics ask often. */
const maxCountedChanges = 100_000
const maxCountedParked = 10_000
const maxListedParked = 10

const indexesWithState = sql`(
  select *, ${isSettledCondition(sql`database_identity()`)} as is_settled from search_indexes
) as indexes`
const pendingCount = sql`
  case
    when indexes.is_settled then 0
    else (
      select count(*)::int from (
        select from index_outbox
        where index_outbox.registration_name = indexes.registration_name
          and index_outbox.xid >= indexes.settled_before
        limit ${sql.lit(maxCountedChanges)}
      ) as pending_rows
    )
  end
`
const parkedCount = sql`(
  select count(*)::int from (
    select from index_parked_documents
    where index_parked_documents.registration_name = indexes.registration_name
    limit ${sql.lit(maxCountedParked)}
  ) as parked
)`
/**
 * Returns how far indexes are behind, and who indexes: all of them, ordered by name, or those with
 * these names that are registered, in this order.
 */
export async function readIndexLags(
  db: Kysely<Tables>,
  registrationNames: string[] | null = null,
): Promise<IndexLag[]> {
  const { rows } = await sql<IndexLag>`
    select indexes.registration_name as "registrationName",
      case when indexes.is_settled then now() else indexes.indexed_at end as "indexedAt",
      case
        when indexes.is_settled then 0
        else round(extract(epoch from now() - indexes.indexed_at), 1)::float8
      end as "lagSeconds",
      ${pendingCount} as "pendingCount",
      ${parkedCount} as "parkedCount",
      case when leases.held_until > clock_timestamp() then leases.holder end as "holder",
      indexes.rebuild_requested_at as "rebuildRequestedAt"
    from ${indexesWithState}
      left join index_leases as leases on leases.registration_name = indexes.registration_name
    where ${registrationNames}::text[] is null
      or indexes.registration_name = any(${registrationNames})
    order by array_position(${registrationNames}, indexes.registration_name),
      indexes.registration_name
  `.execute(db)
  return rows
}

/** Returns the status of every registered index, ordered by name. */
export async function readIndexStatuses(db: Kysely<Tables>): Promise<IndexStatus[]> {
  const statuses = []
  for (const lag of await readIndexLags(db))
    statuses.push({ ...lag, oldestParked: await listOldestParked(db, lag.registrationName) })
  return statuses
}

/** Returns the ten documents of this index that were parked first. */
function listOldestParked(db: Kysely<Tables>, registrationName: string): Promise<ParkedDocument[]> {
  return db
    .selectFrom('index_parked_documents')
    .leftJoin('products', 'products.id', 'index_parked_documents.product_id')
    .select([
      'index_parked_documents.product_id as productId',
      'sku',
      'reason',
      'parked_at as parkedAt',
    ])
    .where('registration_name', '=', registrationName)
    .orderBy('parked_at')
    .limit(maxListedParked)
    .execute()
}

/** Returns the time of the database as text, because a Date has no microseconds. */
export async function readDatabaseTime(db: Kysely<Tables>): Promise<string> {
  const { rows } = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(db)
  return rows[0]?.now ?? ''
}

/**
 * Whether the index contains every change, and needs no rebuild. With
 * `committedBefore`, the time of the database, newer changes may be pending.
 */
export async function isIndexUpToDate(
  db: Kysely<Tables>,
  registrationName: string,
  { committedBefore = 'infinity' }: { committedBefore?: string } = {},
): Promise<boolean> {
  const { rows } = await sql<{ isUpToDate: boolean }>`
    select ${isOfThisDatabase}
      and state in ('writing', 'settled')
      and rebuild_requested_at is null
      and (is_settled or coalesce(indexed_at >= ${committedBefore}::timestamptz, false))
      as "isUpToDate"
    from ${indexesWithState}
    where registration_name = ${registrationName}
  `.execute(db)
  return rows[0]?.isUpToDate ?? false
}
