// Reads how far the indexes are behind the catalogue.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { isPendingCondition } from '../search-engine/read-index-states.ts'
import { listParkedDocuments, type ParkedDocument } from './documents/parked-documents.ts'
import { computeIndexShape } from './rebuild/index-shape.ts'

export type IndexLag = {
  /** The index contains every change up to this instant. Null if there is no index. */
  indexedAt: Date | null
  /** The age of `indexedAt` in seconds; 0 if no change is pending, null if there is no index. */
  lagSeconds: number | null
  /** The number of pending changes. */
  pending: number
  /** The number of parked documents. */
  parked: number
  /** Whether the URL of the engine leads to several servers. Then the index is not used. */
  hasSeveralServers: boolean
}

/** Returns how far the indexes of these engines are behind, in this order, if registered. */
export async function readIndexLags(
  db: Kysely<Tables>,
  registrationNames: string[],
): Promise<(IndexLag & { registrationName: string })[]> {
  const { rows } = await sql<IndexLag & { registrationName: string }>`
    select
      e.name as "registrationName",
      ${indexedAtColumn} as "indexedAt",
      ${lagSecondsColumn} as "lagSeconds",
      ${pendingColumn} as pending,
      ${parkedColumn} as parked,
      e.has_several_servers as "hasSeveralServers"
    from ${enginesWithState}
    where e.name = any(${registrationNames})
    order by array_position(${registrationNames}, e.name)
  `.execute(db)
  return rows
}

export type EngineStatus = Omit<IndexLag, 'parked'> & {
  registrationName: string
  /** The indexer that holds the lease; null if none does. */
  holder: string | null
  rebuildRequestedAt: Date | null
  parkedCount: number
  /** At most ten, the oldest first. */
  parked: ParkedDocument[]
}

/** Returns the status of every registered engine, ordered by name. */
export async function readEngineStatuses(db: Kysely<Tables>): Promise<EngineStatus[]> {
  const { rows } = await sql<Omit<EngineStatus, 'parked'>>`
    select
      e.name as "registrationName",
      e.rebuild_asked_at as "rebuildRequestedAt",
      e.has_several_servers as "hasSeveralServers",
      ${pendingColumn} as pending,
      ${parkedColumn} as "parkedCount",
      case when l.held_until > clock_timestamp() then l.holder end as "holder",
      ${indexedAtColumn} as "indexedAt",
      ${lagSecondsColumn} as "lagSeconds"
    from ${enginesWithState}
      left join indexer_leases l on l.engine = e.name
    order by e.name
  `.execute(db)
  return Promise.all(
    rows.map(async (row) => ({
      ...row,
      parked: await listParkedDocuments(db, row.registrationName),
    })),
  )
}

/** More pending changes or parked documents than this are not counted. */
const maxCounted = 10_000

const enginesWithState = sql`(
  select *, ${isPendingCondition(sql`database_identity()`)} as is_pending from search_engines e
) as e`
const pendingColumn = sql`
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
const parkedColumn = sql`(
  select count(*)::int from (
    select from parked_documents p where p.engine = e.name limit ${sql.lit(maxCounted)}
  ) as parked
)`
const indexedAtColumn = sql`case when e.is_pending then e.indexed_at else now() end`
const lagSecondsColumn = sql`
  case
    when e.is_pending then round(extract(epoch from now() - e.indexed_at), 1)::float8
    else 0
  end
`

/** Whether the index contains every change, has the current shape, and needs no rebuild. */
export async function isIndexUpToDate(
  db: Kysely<Tables>,
  registrationName: string,
): Promise<boolean> {
  const { rows } = await sql<{ isUpToDate: boolean }>`
    select shape = ${computeIndexShape()}
      and database_identity = database_identity()
      and rebuild_asked_at is null and not is_pending as "isUpToDate"
    from ${enginesWithState}
    where name = ${registrationName}
  `.execute(db)
  return rows[0]?.isUpToDate ?? false
}
