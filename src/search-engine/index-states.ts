// Follows the state of the indexes in PostgreSQL: the instant up to which each contains every
// committed change, and the version of its contents.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { differsOnlyInTimeline } from '../database/database-identity.ts'
import type { Tables } from '../database/table-types.ts'
import { repeat } from '../monitoring/regular-task.ts'

// Every instance notices a changed index within a second.
const indexStateIntervalMs = 250
// With the duration of one read, a changed index is noticed within a second.
export const indexStateMaxAge = { ms: 700 }
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

/** Before anything was read. Afterwards, an index without a row is none of this database. */
const unknownState: IndexState = { indexedAt: null, version: null, isOfThisDatabase: true }

type IndexStateRow = {
  /** The name of a registered index. Null in the only row if none of them is registered. */
  name: string | null
  indexedAt: Date | null
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
  const { rows } = await sql<IndexStateRow>`
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
  return rows
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

type FollowOptions = {
  db: Kysely<Tables>
  registrationNames: string[]
  /** Called often with the version of the company's words in the database. */
  onCompanyWordsVersion(version: string): void
}

export class IndexStateFollower {
  readonly #options: FollowOptions
  readonly #states = new Map<string, IndexState>()
  /** By performance.now(), before the query was sent. */
  #readAt = Number.NEGATIVE_INFINITY
  readonly #stopping = new AbortController()
  readonly #reading: Promise<void>

  /** Starts. A failure is not logged: a request that needs PostgreSQL reports it. */
  constructor(options: FollowOptions) {
    this.#options = options
    const { signal } = this.#stopping
    this.#reading = repeat(() => this.#read(), { pauseMs: indexStateIntervalMs, signal })
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#reading
  }

  /**
   * Returns the last known state of this index. While PostgreSQL is unreachable, it has no version.
   */
  getLastKnownState(registrationName: string): IndexState {
    const state = this.#states.get(registrationName) ?? unknownState
    const ageMs = performance.now() - this.#readAt
    return ageMs < indexStateMaxAge.ms ? state : { ...state, version: null }
  }

  async #read(): Promise<void> {
    const { db, registrationNames, onCompanyWordsVersion } = this.#options
    const readAt = performance.now()
    const rows = await readIndexStates(db, registrationNames)
    this.#readAt = readAt
    for (const name of registrationNames) {
      const row = rows.find((candidate) => candidate.name === name)
      // The instant never moves back. Instants in UTC have the order of their texts.
      const instants = [this.#states.get(name)?.indexedAt, row?.indexedAt?.toISOString()]
      this.#states.set(name, {
        indexedAt:
          instants
            .filter((instant) => instant != null)
            .toSorted()
            .at(-1) ?? null,
        version: row?.isUpToDate ? row.version : null,
        isOfThisDatabase: row?.isOfThisDatabase ?? false,
      })
    }
    if (rows[0]) onCompanyWordsVersion(rows[0].wordsVersion)
  }
}
