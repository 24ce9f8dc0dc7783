// The data version: changes with every commit that changes a statistic, and is cheap to read.
import { type Kysely, sql } from 'kysely'
import { parseWalPosition, walPosition } from '../../database/replica/wal-position.ts'
import type { Tables } from '../../database/table-types.ts'

/**
 * `changes` counts the changes of this generation that the snapshot contains, folded or not. It
 * grows with each commit, however long ago the transaction began. Folding does not change it.
 *
 * `generation` changes when the summary is rebuilt, when the quotes are truncated, and when the
 * database is restored. A restored copy continues the count from an older state, so the generation
 * includes the table's oid and the start time of the PostgreSQL server.
 */
export type DataVersion = { generation: string; changes: number }

const generation = sql<string>`concat_ws(
  ' ', generation, tableoid, extract(epoch from pg_postmaster_start_time())
)`.as('generation')
const changes = sql<string>`folded + count_unfolded_changes()`.as('changes')

/** Returns the data version of the snapshot that `db` reads. */
export async function readDataVersion(db: Kysely<Tables>): Promise<DataVersion> {
  const row = await db
    .selectFrom('quote_summary')
    .select([generation, changes])
    .executeTakeFirstOrThrow()
  return { generation: row.generation, changes: Number(row.changes) }
}

/**
 * Returns the data version, and a WAL position at or after every change in the snapshot. The
 * position is needed only to compare a primary with a replica.
 */
export async function readVersionAndPosition(
  db: Kysely<Tables>,
): Promise<{ version: DataVersion; position: number | null }> {
  const row = await db
    .selectFrom('quote_summary')
    .select([generation, changes, walPosition.as('position')])
    .executeTakeFirstOrThrow()
  return {
    version: { generation: row.generation, changes: Number(row.changes) },
    position: parseWalPosition(row.position),
  }
}

/** PostgreSQL's code for a missing privilege. */
const insufficientPrivilege = '42501'

/**
 * Returns an id that no other database has: the identifier of the PostgreSQL cluster and the oid of
 * the database. Replicas and failovers keep it. If the role may not read the identifier, returns
 * the generation, which is also unique but changes more often.
 */
export async function readDatabaseId(
  db: Kysely<Tables>,
  { generation }: DataVersion,
): Promise<string> {
  try {
    const { rows } = await sql<{ id: string }>`
      select system_identifier || '-' || oid as id
      from pg_control_system(), pg_database where datname = current_database()
    `.execute(db)
    return rows[0]?.id ?? generation
  } catch (error) {
    // Not logged: the generation works as well, except that fewer answers survive a restart.
    if ((error as { code?: unknown }).code === insufficientPrivilege) return generation
    throw error
  }
}

/** Returns the timeline of the server, which changes with each failover; null for a replica. */
export async function readTimeline(db: Kysely<Tables>): Promise<number | null> {
  const { rows } = await sql<{ timeline: number | null }>`
    select case when not pg_is_in_recovery() then
      ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
    end as timeline
  `.execute(db)
  return rows[0]?.timeline ?? null
}

/** Whether data at `version` contains every change that data at `other` contains. */
export function includesChangesOf(version: DataVersion, other: DataVersion): boolean {
  return version.generation === other.generation && version.changes >= other.changes
}

/**
 * A data version that was read from PostgreSQL. `readAt` (performance.now) is a moment before the
 * query was sent: the version contains every commit before it. `databaseId` identifies the
 * database. `wal` is the position of the primary at that time, and is read only if there is a
 * replica.
 */
export type DataVersionReading = {
  version: DataVersion
  databaseId: string
  readAt: number
  wal?: { timeline: number; position: number }
}
