// Positions in the write-ahead log (WAL), by which a replica is compared with its primary.
import { sql } from 'kysely'

/**
 * SQL that returns, as text, how many bytes of WAL this server has flushed, or replayed if it is a
 * replica. The commits that a statement sees were written before the position that it returns. Only
 * those with `synchronous_commit = off` may come after it. The position of insertion would cover
 * them, but what it counts may reach a replica as late as the next commit.
 */
export const walPosition = sql<string | null>`(
  case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end
  - '0/0'
)::text`

/** Returns the position as a number, or null if it is unknown. */
export function parseWalPosition(text: string | null): number | null {
  const position = text === null ? Number.NaN : Number(text)
  return Number.isSafeInteger(position) ? position : null
}
