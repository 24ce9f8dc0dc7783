// Positions in the write-ahead log (WAL), by which a replica is compared with its primary.
import { sql } from 'kysely'

/**
 * SQL that returns, as text, how many bytes of WAL this server has flushed, or replayed if it is a
 * replica. The commits that a statement sees come before the position that it returns, except those
 * with `synchronous_commit = off`. The insert position would cover these too, but a replica may
 * reach it only with the next commit.
 */
export const walPositionSql = sql<string | null>`(
  case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end
  - '0/0'
)::text`

/** Returns the position in bytes, or null if it is unknown. */
export function parseWalPosition(text: string | null): number | null {
  const position = text === null ? Number.NaN : Number(text)
  return Number.isSafeInteger(position) ? position : null
}
