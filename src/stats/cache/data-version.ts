// The data version: changes with every commit that changes a statistic, and is cheap to read.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/table-types.ts'

/**
 * `changes` counts every change that this snapshot has ever contained, folded or not. It grows with
 * each commit, also if the commit's ids were assigned long ago. Folding does not change it.
 *
 * `generation` changes when the summary is rebuilt, when the quotes are truncated, and when the
 * database is restored. A restored copy continues the count from an older state, so the generation
 * includes the table's oid and the start time of the PostgreSQL server.
 */
export type DataVersion = { generation: string; changes: number }

/** Returns the data version of the snapshot that `db` reads. */
export async function readDataVersion(db: Kysely<Tables>): Promise<DataVersion> {
  const { generation, changes } = await db
    .selectFrom('quote_summary')
    .select([
      sql<string>`concat_ws(
        ' ', generation, tableoid, extract(epoch from pg_postmaster_start_time())
      )`.as('generation'),
      sql<string>`folded + count_unfolded_changes()`.as('changes'),
    ])
    .executeTakeFirstOrThrow()
  return { generation, changes: Number(changes) }
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

/** Whether data at `version` contains every change that data at `other` contains. */
export function includesChangesOf(version: DataVersion, other: DataVersion): boolean {
  return version.generation === other.generation && version.changes >= other.changes
}

/**
 * `readAt` (performance.now) is a moment before the query was sent. The version contains every
 * commit before that moment. `databaseId` identifies the database that was read.
 */
export type DataVersionReading = { version: DataVersion; databaseId: string; readAt: number }
