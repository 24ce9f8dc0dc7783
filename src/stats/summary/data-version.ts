// The data version: changes with every commit that changes a statistic, and is cheap to read.
import { type Kysely, sql } from 'kysely'
import { parseWalPosition, walPositionSql } from '../../database/replica/wal-position.ts'
import type { Tables } from '../../database/table-types.ts'

/**
 * `changeCount` counts the changes of this generation that the snapshot contains, folded or not.
 * Every commit increases it, even a late commit of an old transaction. Folding does not change it.
 * README.md in this folder explains these terms.
 *
 * `generation` changes when the summary is rebuilt, when the quotes are truncated, when the
 * database is restored, and when PostgreSQL restarts. It is `<id> <oid> <start time>`: the column
 * `generation` of quote_summary, the oid of this table, and the start time of the server. The id
 * alone would not be enough: a restored copy has the same id, and continues the count from an older
 * state.
 */
export type DataVersion = { generation: string; changeCount: number }

/**
 * Returns the data version of the snapshot that `db` reads. `walPosition` is a position in the WAL
 * at or after every change in the snapshot.
 */
export async function readVersion(
  db: Kysely<Tables>,
): Promise<{ version: DataVersion; walPosition: number }> {
  const { generation, changeCount, position } = await db
    .selectFrom('quote_summary')
    .select([
      sql<string>`concat_ws(
        ' ', generation, tableoid, extract(epoch from pg_postmaster_start_time())
      )`.as('generation'),
      sql<string>`folded + count_unfolded_changes()`.as('changeCount'),
      walPositionSql.as('position'),
    ])
    .executeTakeFirstOrThrow()
  const parsedPosition = parseWalPosition(position)
  if (parsedPosition === null)
    throw new Error(`PostgreSQL returned the WAL position ${position}, which cannot be read`)
  return {
    version: { generation, changeCount: Number(changeCount) },
    walPosition: parsedPosition,
  }
}

/** Returns whether data at `version` contains every change that data at `other` contains. */
export function isAtLeast(version: DataVersion, other: DataVersion): boolean {
  return version.generation === other.generation && version.changeCount >= other.changeCount
}

/**
 * Returns the same as `isAtLeast`, for a version that a replica returned and one that its primary
 * returned. The start times of the two servers differ, so they are not compared.
 */
export function isReplicaAtLeast(replica: DataVersion, primary: DataVersion): boolean {
  return isAtLeast(withoutStartTime(replica), withoutStartTime(primary))
}

/** Removes the last word of the generation. */
const withoutStartTime = ({ generation, changeCount }: DataVersion): DataVersion => ({
  generation: generation.slice(0, generation.lastIndexOf(' ')),
  changeCount,
})
