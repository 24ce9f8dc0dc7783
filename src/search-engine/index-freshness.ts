// Follows the state of the indexes: the instant up to which each contains every committed change,
// and the version of its contents, which decides whether cached answers are valid.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { timeouts } from '../timeouts.ts'

export type IndexState = {
  /** The index contains every change committed up to this instant; null while it is unknown. */
  indexedAt: string | null
  /**
   * Identifies the contents of the index. Null while changes are pending or the state is unknown:
   * then no cached answer may be used.
   */
  version: string | null
  /** False if the index was built from another database, or from a later state of this one. */
  isOfThisDatabase: boolean
}

export type IndexFreshness = {
  /** Returns the state of the index of this engine. */
  current(engineName: string): IndexState
  stop(): void
}

const unknownState: IndexState = { indexedAt: null, version: null, isOfThisDatabase: true }

/**
 * Reads the states of the indexes of these engines four times a second, in one query. While
 * PostgreSQL is unreachable, `current` returns the last known instant and no version. Records every
 * ten seconds that the indexes are used. The same query reads the version of the company's words.
 */
export function followIndexFreshness(
  db: Kysely<Tables>,
  engineNames: string[],
  onWordsVersion: (version: string) => void,
): IndexFreshness {
  const states = new Map<string, IndexState>()
  let readAt = Number.NEGATIVE_INFINITY
  let usedAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout
  let isStopped = false

  async function refresh(): Promise<void> {
    const startedAt = performance.now()
    // A failed read is not logged: the health check reports PostgreSQL, and `current` returns no
    // version once the last read is too old.
    const rows = await readStates(db, engineNames).catch(() => undefined)
    if (rows) {
      for (const row of rows.filter(isRegistered))
        states.set(row.name, toState(row, states.get(row.name)))
      for (const { wordsVersion } of rows.slice(0, 1)) onWordsVersion(wordsVersion)
      readAt = startedAt
      if (startedAt - usedAt > timeouts.searchEngine.useRecord.ms) {
        usedAt = startedAt
        // An index whose use is not recorded for a minute may be removed. The next attempt is soon.
        await recordUse(db, engineNames).catch(() => undefined)
      }
    }
    if (!isStopped) timer = setTimeout(refresh, timeouts.searchEngine.indexStateInterval.ms).unref()
  }
  timer = setTimeout(refresh, 0).unref()

  return {
    current(engineName) {
      const state = states.get(engineName) ?? unknownState
      const isRecent = performance.now() - readAt < timeouts.searchEngine.indexStateMaxAge.ms
      return isRecent ? state : { ...state, version: null }
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

/** `name` is null if none of the engines is registered. */
type AnyRow = Omit<StateRow, 'name'> & { name: string | null; wordsVersion: string }
const isRegistered = (row: AnyRow): row is AnyRow & StateRow => row.name !== null

type StateRow = {
  name: string
  indexedAt: Date | null
  isUpToDate: boolean
  version: string
  isOfThisDatabase: boolean
}

function toState(row: StateRow, previous: IndexState | undefined): IndexState {
  const indexedAt = row.indexedAt?.toISOString() ?? null
  const lastKnown = previous?.indexedAt ?? null
  const isNewer = indexedAt !== null && (lastKnown === null || indexedAt > lastKnown)
  return {
    indexedAt: isNewer ? indexedAt : lastKnown,
    version: row.isUpToDate && row.isOfThisDatabase ? row.version : null,
    isOfThisDatabase: row.isOfThisDatabase,
  }
}

/**
 * Without newer outbox rows than the indexer has settled, every change committed before now is in
 * the index. With such rows, or while the indexer writes, the instant that it recorded applies. The
 * indexer increments the version after it has written. The query reads no settled rows, which may
 * be a million behind an old snapshot.
 */
async function readStates(db: Kysely<Tables>, engineNames: string[]): Promise<AnyRow[]> {
  const { rows } = await sql<AnyRow>`
    select name,
      case when is_pending then indexed_at else now() end as "indexedAt",
      not is_pending as "isUpToDate",
      engine.version::text as version,
      coalesce(database_identity = database_identity(), true) as "isOfThisDatabase",
      words.version::text as "wordsVersion"
    from search_words_version as words left join (
      select *, indexed_at is null or is_writing or ${hasUnsettledChanges} as is_pending
      from search_engines e where name = any(${engineNames})
    ) as engine on true
  `.execute(db)
  return rows
}

/** Whether there are outbox rows of the engine `e` that its settled snapshot does not see. */
export const hasUnsettledChanges = sql`(
  exists (
    select from product_changes c
    where c.engine = e.name and c.xid >= pg_snapshot_xmax(e.settled_snapshot)
  ) or exists (
    select from product_changes c
    where c.engine = e.name
      and c.xid = any (array(select pg_snapshot_xip(e.settled_snapshot)))
  )
)`

async function recordUse(db: Kysely<Tables>, engineNames: string[]): Promise<void> {
  const seconds = timeouts.searchEngine.useRecord.ms / 2_000
  await sql`
    update search_engines set used_at = now()
    where name = any(${engineNames}) and used_at < now() - make_interval(secs => ${seconds})
  `.execute(db)
}
