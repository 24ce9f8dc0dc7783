// Reads the status of indexes: how far they are behind the catalogue, and who indexes.
import { type Kysely, sql } from 'kysely'
import { isOfThisDatabase } from '../database/database-identity.ts'
import type { Tables } from '../database/table-types.ts'
import { isPendingCondition } from '../search-engine/read-index-states.ts'
import { computeIndexShape } from './documents/index-shape.ts'
import { listOldestParked, type ParkedDocument } from './documents/parked-documents.ts'
import { requireFirstRow } from './first-row.ts'

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
  /** Whether the URL of the engine leads to several servers. Then the index is not used. */
  hasSeveralServers: boolean
}

export type IndexStatus = IndexLag & {
  /** The indexer that holds the lease; null if none does. */
  holder: string | null
  rebuildRequestedAt: Date | null
  /** At most ten. */
  oldestParked: ParkedDocument[]
}

/** Counting this many takes about 30 ms. Health checks and metrics ask often. */
const maxCountedChanges = 100_000
const maxCountedParked = 10_000

const indexesWithState = sql`(
  select *, ${isPendingCondition(sql`database_identity()`)} as is_pending from search_indexes i
) as i`
const pendingCount = sql`
  case
    when not i.is_pending then 0
    else (
      select count(*)::int from (
        (
          select from index_outbox c
          where c.registration_name = i.registration_name
            and c.xid >= pg_snapshot_xmax(i.settled_snapshot)
        ) union all (
          select from index_outbox c
          where c.registration_name = i.registration_name
            and c.xid = any (array(select pg_snapshot_xip(i.settled_snapshot)))
        )
        limit ${sql.lit(maxCountedChanges)}
      ) as pending_rows
    )
  end
`
const parkedCount = sql`(
  select count(*)::int from (
    select from index_parked_documents p
    where p.registration_name = i.registration_name limit ${sql.lit(maxCountedParked)}
  ) as parked
)`
/** The columns of IndexLag. */
const lagColumns = sql`
  i.registration_name as "registrationName",
  case when i.is_pending then i.indexed_at else now() end as "indexedAt",
  case
    when i.is_pending then round(extract(epoch from now() - i.indexed_at), 1)::float8
    else 0
  end as "lagSeconds",
  ${pendingCount} as "pendingCount",
  ${parkedCount} as "parkedCount",
  i.has_several_servers as "hasSeveralServers"
`

/** Returns how far these indexes are behind, in this order, if they are registered. */
export async function readIndexLags(
  db: Kysely<Tables>,
  registrationNames: string[],
): Promise<IndexLag[]> {
  const { rows } = await sql<IndexLag>`
    select ${lagColumns}
    from ${indexesWithState}
    where i.registration_name = any(${registrationNames})
    order by array_position(${registrationNames}, i.registration_name)
  `.execute(db)
  return rows
}

/** Returns the status of every registered index, ordered by name. */
export async function readIndexStatuses(db: Kysely<Tables>): Promise<IndexStatus[]> {
  const { rows } = await sql<Omit<IndexStatus, 'oldestParked'>>`
    select ${lagColumns},
      case when l.held_until > clock_timestamp() then l.holder end as "holder",
      i.rebuild_requested_at as "rebuildRequestedAt"
    from ${indexesWithState}
      left join index_leases l on l.registration_name = i.registration_name
    order by i.registration_name
  `.execute(db)
  return Promise.all(
    rows.map(async (row) => ({
      ...row,
      oldestParked: await listOldestParked(db, row.registrationName),
    })),
  )
}

/** Returns the time of the database as text, because a Date has no microseconds. */
export async function readDatabaseTime(db: Kysely<Tables>): Promise<string> {
  const result = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(db)
  return requireFirstRow(result).now
}

/**
 * Whether the index contains every change, has the current shape, and needs no rebuild. With
 * `committedBefore`, the time of the database, newer changes may be pending.
 */
export async function isIndexUpToDate(
  db: Kysely<Tables>,
  registrationName: string,
  { committedBefore = 'infinity' }: { committedBefore?: string } = {},
): Promise<boolean> {
  const { rows } = await sql<{ isUpToDate: boolean }>`
    select shape = ${computeIndexShape()}
      and ${isOfThisDatabase}
      and rebuild_requested_at is null
      and (not is_pending or coalesce(indexed_at >= ${committedBefore}::timestamptz, false))
      as "isUpToDate"
    from ${indexesWithState}
    where registration_name = ${registrationName}
  `.execute(db)
  return rows[0]?.isUpToDate ?? false
}
