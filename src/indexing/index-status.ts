// Reads and records how far an index is behind the catalogue.
import { type Kysely, sql } from 'kysely'
import { differsOnlyInTimeline } from '../database/database-identity.ts'
import type { Tables } from '../database/table-types.ts'
import { unsettledChangesCondition } from '../search-engine/index-state.ts'
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
  select *,
    is_writing or ${unsettledChangesCondition}
      or coalesce(database_identity <> database_identity(), false) as is_pending
  from search_engines e
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
const indexedAtColumn = sql`
  case when e.indexed_at is null or e.is_pending then e.indexed_at else now() end
`
const lagSecondsColumn = sql`
  case
    when e.indexed_at is null then null
    when not e.is_pending then 0
    else round(extract(epoch from now() - e.indexed_at), 1)::float8
  end
`

/** Returns the record of the index in PostgreSQL; undefined if the engine is not registered. */
export async function readIndexRecord(db: Kysely<Tables>, registrationName: string) {
  return db
    .selectFrom('search_engines')
    .select((eb) => [
      'indexed_at as indexedAt',
      'shape',
      'last_task as lastTask',
      'last_task_at as lastTaskAt',
      'is_writing as isWriting',
      'rebuild_asked_at as rebuildRequestedAt',
      sql<boolean>`database_identity = database_identity()`.as('isOfThisDatabase'),
      sql<boolean>`${differsOnlyInTimeline(sql`database_identity()`)}`.as('hasFailedOver'),
      eb
        .exists(
          eb
            .selectFrom('product_changes')
            .select('id')
            .where('engine', '=', registrationName)
            .where('product_id', 'is', null),
        )
        .as('wasTruncated'),
    ])
    .where('name', '=', registrationName)
    .executeTakeFirst()
}

/** Whether the index contains every change, has the current shape, and needs no rebuild. */
export async function isIndexUpToDate(
  db: Kysely<Tables>,
  registrationName: string,
): Promise<boolean> {
  const { rows } = await sql<{ isUpToDate: boolean }>`
    select indexed_at is not null and shape = ${computeIndexShape()}
      and database_identity = database_identity()
      and rebuild_asked_at is null and not is_pending as "isUpToDate"
    from ${enginesWithState}
    where name = ${registrationName}
  `.execute(db)
  return rows[0]?.isUpToDate ?? false
}

/** Whether somebody requested a rebuild that has not been completed. */
export async function isRebuildRequested(
  db: Kysely<Tables>,
  registrationName: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('search_engines')
    .select('rebuild_asked_at')
    .where('name', '=', registrationName)
    .executeTakeFirst()
  return row !== undefined && row.rebuild_asked_at !== null
}

/** Requests a rebuild. Records the time of the database: the caller's clock may be ahead. */
export async function requestRebuild(db: Kysely<Tables>, registrationName: string): Promise<void> {
  await sql`
    update search_engines set rebuild_asked_at = now() where name = ${registrationName}
  `.execute(db)
}
