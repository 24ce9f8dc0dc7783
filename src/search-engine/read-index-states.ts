// Reads the states of indexes from PostgreSQL: what each contains, and whether changes are pending.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { differsOnlyInTimeline } from '../database/database-identity.ts'
import type { Tables } from '../database/table-types.ts'

// A failover loses seconds of commits. A restored database may lack more.
const useAfterFailoverSeconds = 60

export type IndexState = {
  /** The index contains every change committed up to this instant; null while it is unknown. */
  indexedAt: string | null
  /**
   * Identifies the contents of the index. Null while changes are pending or the state is unknown:
   * then no cached answer may be used.
   */
  version: string | null
  /**
   * False if the index was built from a different database, or from a later state of this one, or
   * if this database does not know what the index contains. It stays true after a failover of
   * PostgreSQL.
   */
  isOfThisDatabase: boolean
}

export type IndexStateRow = {
  /** The name of a registered index. Null in the only row if none of them is registered. */
  name: string | null
  /** RFC 3339 text. */
  indexedAt: string | null
  isUpToDate: boolean
  version: string
  isOfThisDatabase: boolean
  /** The version of the company's words. The same in every row. */
  wordsVersion: string
}

/**
 * Returns the states of these indexes, or one row without a name if none is registered. If no
 * outbox row is pending, the index contains every change committed before now. Otherwise, or while
 * the indexer writes, it contains those up to the recorded instant. The indexer increments the
 * version after it has written. A failover, a crash or a restored copy may lose commits and set
 * that number back, so the version also contains the timeline of the database and the start of its
 * server. The query skips deleted rows: PostgreSQL keeps them, perhaps a million, while an old
 * snapshot is in use.
 */
export async function readIndexStates(
  db: Kysely<Tables>,
  registrationNames: string[],
): Promise<IndexStateRow[]> {
  const { rows } = await sql<Omit<IndexStateRow, 'indexedAt'> & { indexedAt: Date | null }>`
    select registration_name as name,
      case when is_settled then now() else indexed_at end as "indexedAt",
      is_settled as "isUpToDate",
      concat_ws(
        ' ', identity, extract(epoch from pg_postmaster_start_time()), search_index.version
      ) as version,
      state <> 'unknown' and (
        coalesce(database_identity = identity, true) or ${hasFailedOver(sql`identity`)}
      ) as "isOfThisDatabase",
      words.version::text as "wordsVersion"
    from search_words_version as words
      cross join (select database_identity() as identity offset 0) as database
      left join lateral (
        select *, ${isSettledCondition(sql`identity`)} as is_settled
        from search_indexes where registration_name = any(${registrationNames})
      ) as search_index on true
  `.execute(db)
  return rows.map((row) => ({ ...row, indexedAt: row.indexedAt?.toISOString() ?? null }))
}

/**
 * Returns an SQL condition: the index of this row of search_indexes is settled, as
 * docs/architecture.md explains. `identity` is the SQL expression of the database's identity.
 */
export const isSettledCondition = (identity: RawBuilder<unknown>) => sql`(
  search_indexes.state = 'settled'
  and coalesce(search_indexes.database_identity = ${identity}, true)
  and not exists (
    select from index_outbox
    where index_outbox.registration_name = search_indexes.registration_name
      and index_outbox.xid >= search_indexes.settled_before
  )
)`

/**
 * Returns an SQL condition: the index of this row of search_indexes was in use by this database
 * until a failover of less than a minute ago.
 */
export const hasFailedOver = (identity: RawBuilder<unknown>) => sql`(
  ${differsOnlyInTimeline(identity)}
  and indexed_at > now() - make_interval(secs => ${useAfterFailoverSeconds})
)`

/** Returns the state after a row was read. The instant of the previous state never moves back. */
export function advanceState(
  row: IndexStateRow | undefined,
  previous: IndexState | undefined,
): IndexState {
  const lastKnown = previous?.indexedAt ?? null
  if (!row) return { indexedAt: lastKnown, version: null, isOfThisDatabase: false }
  const { indexedAt } = row
  const isNewer = indexedAt !== null && (lastKnown === null || indexedAt > lastKnown)
  return {
    indexedAt: isNewer ? indexedAt : lastKnown,
    version: row.isUpToDate ? row.version : null,
    isOfThisDatabase: row.isOfThisDatabase,
  }
}
