// Reads and records how far an index is behind the catalogue.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { listParkedDocuments, type ParkedDocument } from './parked-documents.ts'
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
}

/** Returns how far the indexes of these engines are behind, in this order, if registered. */
export async function readIndexLags(
  db: Kysely<Tables>,
  engineNames: string[],
): Promise<(IndexLag & { engineName: string })[]> {
  const { rows } = await sql<IndexLag & { engineName: string }>`
    select
      e.name as "engineName",
      ${indexedAtColumn} as "indexedAt",
      ${lagSecondsColumn} as "lagSeconds",
      changes.pending,
      (select count(*)::int from parked_documents p where p.engine = e.name) as parked
    from search_engines e ${countPendingChanges}
    where e.name = any(${engineNames})
    order by array_position(${engineNames}, e.name)
  `.execute(db)
  return rows
}

export type EngineStatus = Omit<IndexLag, 'parked'> & {
  engineName: string
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
      e.name as "engineName",
      e.rebuild_asked_at as "rebuildRequestedAt",
      changes.pending,
      (select count(*)::int from parked_documents p where p.engine = e.name) as "parkedCount",
      case when l.held_until > clock_timestamp() then l.holder end as "holder",
      ${indexedAtColumn} as "indexedAt",
      ${lagSecondsColumn} as "lagSeconds"
    from search_engines e
      left join indexer_leases l on l.engine = e.name
      ${countPendingChanges}
    order by e.name
  `.execute(db)
  return Promise.all(
    rows.map(async (row) => ({ ...row, parked: await listParkedDocuments(db, row.engineName) })),
  )
}

const countPendingChanges = sql`
  cross join lateral (
    select count(*)::int as pending from product_changes c where c.engine = e.name
  ) changes
`
const indexedAtColumn = sql`
  case when e.indexed_at is null or changes.pending > 0 then e.indexed_at else now() end
`
const lagSecondsColumn = sql`
  case
    when e.indexed_at is null then null
    when changes.pending = 0 then 0
    else round(extract(epoch from now() - e.indexed_at), 1)::float8
  end
`

/** Returns the record of the index in PostgreSQL; undefined if the engine is not registered. */
export async function readIndexRecord(db: Kysely<Tables>, engineName: string) {
  return db
    .selectFrom('search_engines')
    .select((eb) => [
      'indexed_at as indexedAt',
      'shape',
      'last_task as lastTask',
      'rebuild_asked_at as rebuildRequestedAt',
      eb
        .exists(
          eb
            .selectFrom('product_changes')
            .select('id')
            .where('engine', '=', engineName)
            .where('product_id', 'is', null),
        )
        .as('wasTruncated'),
    ])
    .where('name', '=', engineName)
    .executeTakeFirst()
}

/** Whether the index contains every change, has the current shape, and needs no rebuild. */
export async function isIndexUpToDate(db: Kysely<Tables>, engineName: string): Promise<boolean> {
  const record = await readIndexRecord(db, engineName)
  const isBuilt =
    record !== undefined &&
    record.indexedAt !== null &&
    record.shape === computeIndexShape() &&
    record.rebuildRequestedAt === null
  if (!isBuilt) return false
  const pendingRow = await db
    .selectFrom('product_changes')
    .select('id')
    .where('engine', '=', engineName)
    .limit(1)
    .executeTakeFirst()
  return pendingRow === undefined
}

/** Records that the index contains every change up to `instant`, unless a later one is recorded. */
export async function recordIndexedAt(
  db: Kysely<Tables>,
  engineName: string,
  instant: Date,
): Promise<void> {
  await db
    .updateTable('search_engines')
    .set({ indexed_at: instant })
    .where('name', '=', engineName)
    .where((eb) => eb.or([eb('indexed_at', 'is', null), eb('indexed_at', '<', instant)]))
    .execute()
}

/**
 * Records that the index is up to date now, if no change is pending. Without this record, the lag
 * of the first change after an idle time would include that time.
 */
export async function recordIdle(db: Kysely<Tables>, engineName: string): Promise<void> {
  await sql`
    update search_engines e set indexed_at = greatest(indexed_at, now())
    where name = ${engineName} and indexed_at is not null
      and not exists (select from product_changes where engine = e.name)
  `.execute(db)
}
