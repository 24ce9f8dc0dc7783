// Reads which server a replica is and how far it is, and decides whether it may be used.
import { type Kysely, sql } from 'kysely'
import { databaseIdSql } from '../database-identity.ts'
import type { Tables } from '../table-types.ts'
import { hasSameHistory, type PlaceInHistory, type PrimaryHistory } from './primary-history.ts'
import { parseWalPosition, walPositionSql } from './wal-position.ts'

// Figures are current up to the age of two seconds, and must be computed until then.
export const maxReplicaLagMs = 1_000

/** `readAt` (performance.now) is a moment after the state was read. */
export type ReplicaState = PlaceInHistory & { isInRecovery: boolean; readAt: number }

/**
 * - `unknown`: nothing has been read from the primary or the replica yet.
 * - `promoted`: the server is a primary.
 * - `ahead`: the replica contains WAL that the primary does not have.
 */
export type ReplicaStatus =
  | 'unknown'
  | 'up'
  | 'behind'
  | 'unreachable'
  | 'promoted'
  | 'other database'
  | 'other timeline'
  | 'ahead'

/**
 * Returns the state of the server. Its timeline is that of its last restartpoint, which is at most
 * `checkpoint_timeout` late after a failover. What a later statement on the same connection sees
 * contains everything before `position`. Throws if the server does not respond.
 */
export async function readReplicaState(db: Kysely<Tables>): Promise<ReplicaState> {
  const { rows } = await sql<{
    isInRecovery: boolean
    position: string | null
    databaseId: string
    timeline: number
  }>`
    select pg_is_in_recovery() as "isInRecovery", ${walPositionSql} as position,
      ${databaseIdSql} as "databaseId", timeline_id as timeline
    from pg_control_system(), pg_control_checkpoint(), pg_database
    where datname = current_database()
  `.execute(db)
  const [row] = rows
  if (!row) throw new Error('The replica did not say which server it is.')
  return { ...row, position: parseWalPosition(row.position) ?? 0, readAt: performance.now() }
}

/**
 * Returns the status of a server with this state. A replica is behind if it lacks commits that are
 * older than the allowed lag, measured at the latest state of the primary. `earlier` is the state
 * of the server at the check before.
 */
export function replicaStatusOf(
  state: ReplicaState,
  earlier: ReplicaState | null,
  history: PrimaryHistory,
): ReplicaStatus {
  const latest = history.latest()
  if (!latest) return 'unknown'
  if (state.databaseId !== latest.databaseId) return 'other database'
  if (!state.isInRecovery) return 'promoted'
  if (!hasSameHistory(state, latest)) return 'other timeline'
  if (isAheadOfPrimary(state, latest) || (earlier && isAheadOfPrimary(earlier, latest)))
    return 'ahead'
  const contained = history.latestContainedIn(state)
  if (!contained) return 'behind'
  return latest.readAt - contained.readAt > maxReplicaLagMs ? 'behind' : 'up'
}

/**
 * Whether the replica had WAL which the primary did not have later. Then one of them was restored
 * from a copy of its files, and equal positions are not the same WAL.
 */
function isAheadOfPrimary(
  replica: ReplicaState,
  primary: PlaceInHistory & { readAt: number },
): boolean {
  return (
    hasSameHistory(replica, primary) &&
    primary.readAt > replica.readAt &&
    primary.position < replica.position
  )
}
