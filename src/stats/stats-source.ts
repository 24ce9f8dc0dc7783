// Reads the statistics from the replica if it is up to date, and from the primary otherwise.
import type { Kysely } from 'kysely'
import type { Company } from '../company/company.ts'
import type { Replica } from '../database/replica/replica.ts'
import { readReplicaState } from '../database/replica/replica-state.ts'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'
import { type ComputedStats, readStats } from './read-stats.ts'
import type { StatsRequest } from './schema.ts'

type StatsSourceOptions = {
  db: Kysely<Tables>
  /** Null if there is none. */
  replica: Replica | null
  company: Company
  /** Whether the primary does not respond. Then any lag of the replica is accepted. */
  isPrimaryFailing(): boolean
}

/** Throws if neither server can be read. */
export async function readStatsPreferringReplica(
  { db, replica, company, isPrimaryFailing }: StatsSourceOptions,
  request: StatsRequest,
): Promise<ComputedStats> {
  const isOnlySource = isPrimaryFailing()
  const maxAgeMs = isOnlySource ? Number.POSITIVE_INFINITY : timeouts.database.replicaLag.ms
  const replicated = await replica?.read(
    'statistics',
    () => readStatsFromReplica(replica, company, request, maxAgeMs),
    { isOnlySource },
  )
  if (replicated) return replicated
  return readStats(db, company, request, { withWalPosition: replica !== null })
}

/**
 * Returns null if the replica is too far behind, or lacks what this process has already sent.
 *
 * The statistics get the data version of the primary at the latest moment whose commits the replica
 * contains. They may contain later commits too, and are computed again as soon as the primary has a
 * newer version. The replica's own count of changes cannot be used: commits can become visible in
 * another order there, so equal counts do not mean equal data.
 */
async function readStatsFromReplica(
  { db, history }: Replica,
  company: Company,
  request: StatsRequest,
  maxAgeMs: number,
): Promise<ComputedStats | null> {
  return db.connection().execute(async (connection) => {
    // Read before the statistics, whose snapshot then contains at least what the state contains.
    const state = await readReplicaState(connection)
    const contained = state.isInRecovery ? history.latestContainedIn(state) : undefined
    if (!contained || performance.now() - contained.readAt > maxAgeMs) return null
    if (!history.includesSentPositions(state)) return null
    const computed = await readStats(connection, company, request, { withWalPosition: true })
    // A commit with synchronous_commit = off may be later in the WAL than the position of the
    // primary that was read with its version. The replica may then lack that commit, and these
    // statistics would be taken for current without it.
    if (computed.version.changeCount < contained.version.changeCount) return null
    // Checked again, because meanwhile another request may have been answered from the primary.
    if (!history.includesSentPositions(state)) return null
    return { ...computed, version: contained.version, knownCurrentAt: contained.readAt }
  })
}
