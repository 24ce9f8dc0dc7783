// Reads the statistics from the replica if it is up to date, and from the primary otherwise.
import type { Kysely } from 'kysely'
import type { Company } from '../company/company-file.ts'
import type { Replica } from '../database/replica/replica.ts'
import { maxReplicaLagMs, readReplicaState } from '../database/replica/replica-state.ts'
import type { Tables } from '../database/table-types.ts'
import { type ComputedStats, readStats } from './read-stats.ts'
import type { StatsRequest } from './schema.ts'
import { isReplicaAtLeast } from './summary/data-version.ts'

type StatsSourceOptions = {
  db: Kysely<Tables>
  /** Null if there is none. */
  replica: Replica | null
  company: Company
  /** Whether the primary does not respond. Then any lag of the replica is accepted. */
  isPrimaryFailing(): boolean
}

/** Returns the statistics with their data version. Throws if neither server can be read. */
export async function readStatsPreferringReplica(
  { db, replica, company, isPrimaryFailing }: StatsSourceOptions,
  request: StatsRequest,
): Promise<ComputedStats> {
  const isOnlySource = isPrimaryFailing()
  const maxLagMs = isOnlySource ? Number.POSITIVE_INFINITY : maxReplicaLagMs
  const replicated = await replica?.read(
    'statistics',
    () => readStatsFromReplica(replica, company, request, maxLagMs),
    { isOnlySource },
  )
  if (replicated) return replicated
  return readStats(db, company, request)
}

/**
 * Returns null if the replica is too far behind, or lacks what this process has already cached.
 *
 * The result has a data version, by which caches decide whether it is still current. A version that
 * is newer than the data would let caches keep data that lacks a commit. A version that is older
 * only costs a recomputation. So the result gets a version that its data certainly contains:
 *
 * 1. Find the newest known version of the primary before the WAL position that the replica has
 *    replayed. The replica contains it in full.
 * 2. Read the statistics. They contain at least that version.
 * 3. Reject them if the version that the replica read is older. Step 1 cannot notice a commit with
 *    `synchronous_commit = off`: the primary counts it before its position in the WAL is flushed,
 *    and the replica may lack it.
 * 4. Return them with the version of step 1. The version that the replica read is unsuitable: a
 *    replica can show commits in another order than the primary, so equal counts do not mean equal
 *    data.
 *
 * test/cluster/replica-reads.cluster.ts checks this.
 */
async function readStatsFromReplica(
  { db, history }: Replica,
  company: Company,
  request: StatsRequest,
  maxLagMs: number,
): Promise<ComputedStats | null> {
  return db.connection().execute(async (connection) => {
    const state = await readReplicaState(connection)
    const replayed = state.isInRecovery ? history.latestContainedIn(state) : undefined
    if (!replayed || performance.now() - replayed.readAt > maxLagMs) return null
    if (!history.includesCachedPositions(state)) return null
    const computed = await readStats(connection, company, request)
    if (!isReplicaAtLeast(computed.version, replayed.version)) return null
    // Checked again, because another request may have been answered from the primary meanwhile.
    if (!history.includesCachedPositions(state)) return null
    return { ...computed, version: replayed.version, knownCurrentAt: replayed.readAt }
  })
}
