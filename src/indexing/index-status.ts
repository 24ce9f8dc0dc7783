// Reads the status of indexes: how far they are behind the catalogue, and who indexes.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { isPendingCondition } from '../search-engine/read-index-states.ts'
import { listOldestParked, type ParkedDocument } from './documents/parked-documents.ts'
import { computeIndexShape } from './rebuild/index-shape.ts'

export type IndexLag = {
  registrationName: string
  /** The index contains every change up to this instant. Null if there is no index. */
  indexedAt: Date | null
  /** The age of `indexedAt` in seconds; 0 if no change is pending, null if there is no index. */
  lagSeconds: number | null
  /**
   * The number of pending changes. Counting stops at 10,000. While changes are being written, it is
   * the size of the first batch since the index was last settled.
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

/** More pending changes or parked documents than this are not counted. */
const maxCounted = 10_000

const indexesWithState = sql`(
  select *, ${isPendingCondition(sql`database_identity()`)} as is_pending from search_engines e
) as e`
const pendingCount = sql`
  case
    when e.is_writing then e.pending
    when not e.is_pending then 0
    else (
      select count(*)::int from (
        (
          select from product_changes c
          where c.engine = e.name and c.xid >= pg_snapshot_xmax(e.settled_snapshot)
        ) union all (
          select from product_changes c
          where c.engine = e.name
            and c.xid = any (array(select pg_snapshot_xip(e.settled_snapshot)))
        )
        limit ${sql.lit(maxCounted)}
      ) as unsettled
    )
  end
`
const parkedCount = sql`(
  select count(*)::int from (
    select from parked_documents p where p.engine = e.name limit ${sql.lit(maxCounted)}
  ) as parked
)`
/** The columns of IndexLag. */
const lagColumns = sql`
  e.name as "registrationName",
  case when e.is_pending then e.indexed_at else now() end as "indexedAt",
  case
    when e.is_pending then round(extract(epoch from now() - e.indexed_at), 1)::float8
    else 0
  end as "lagSeconds",
  ${pendingCount} as "pendingCount",
  ${parkedCount} as "parkedCount",
  e.has_several_servers as "hasSeveralServers"
`

/** Returns how far these indexes are behind, in this order, if they are registered. */
export async function readIndexLags(
  db: Kysely<Tables>,
  registrationNames: string[],
): Promise<IndexLag[]> {
  const { rows } = await sql<IndexLag>`
    select ${lagColumns}
    from ${indexesWithState}
    where e.name = any(${registrationNames})
    order by array_position(${registrationNames}, e.name)
  `.execute(db)
  return rows
}

/** Returns the status of every registered index, ordered by name. */
export async function readIndexStatuses(db: Kysely<Tables>): Promise<IndexStatus[]> {
  const { rows } = await sql<Omit<IndexStatus, 'oldestParked'>>`
    select ${lagColumns},
      case when l.held_until > clock_timestamp() then l.holder end as "holder",
      e.rebuild_asked_at as "rebuildRequestedAt"
    from ${indexesWithState}
      left join indexer_leases l on l.engine = e.name
    order by e.name
  `.execute(db)
  return Promise.all(
    rows.map(async (row) => ({
      ...row,
      oldestParked: await listOldestParked(db, row.registrationName),
    })),
  )
}

/** Whether the index contains every change, has the current shape, and needs no rebuild. */
export async function isIndexUpToDate(
  db: Kysely<Tables>,
  registrationName: string,
): Promise<boolean> {
  const { rows } = await sql<{ isUpToDate: boolean }>`
    select shape = ${computeIndexShape()}
      and database_identity = database_identity()
      and rebuild_asked_at is null and not is_pending as "isUpToDate"
    from ${indexesWithState}
    where name = ${registrationName}
  `.execute(db)
  return rows[0]?.isUpToDate ?? false
}
