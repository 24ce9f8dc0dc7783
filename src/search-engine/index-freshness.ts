// Follows the state of an engine's index: the instant up to which it contains every committed
// change, and the version of its contents, which decides whether cached answers are valid.
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
}

export type IndexFreshness = {
  current(): IndexState
  stop(): void
}

/**
 * Reads the state of one engine's index four times a second. While PostgreSQL is unreachable,
 * `current` returns the last known instant and no version.
 */
export function followIndexFreshness(db: Kysely<Tables>, engineName: string): IndexFreshness {
  let indexedAt: string | null = null
  let version: string | null = null
  let readAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout
  let isStopped = false

  async function refresh(): Promise<void> {
    const startedAt = performance.now()
    // A failed read is not logged: the health check reports PostgreSQL, and `current` returns no
    // version once the last read is too old.
    const row = await readIndexRow(db, engineName).catch(() => undefined)
    if (row) {
      const instant = row.indexedAt?.toISOString() ?? null
      if (instant !== null && (indexedAt === null || instant > indexedAt)) indexedAt = instant
      version = row.isUpToDate ? row.version : null
      readAt = startedAt
    }
    if (!isStopped) timer = setTimeout(refresh, timeouts.searchEngine.indexStateInterval.ms).unref()
  }
  timer = setTimeout(refresh, 0).unref()

  return {
    current() {
      const isRecent = performance.now() - readAt < timeouts.searchEngine.indexStateMaxAge.ms
      return { indexedAt, version: isRecent ? version : null }
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

type IndexRow = { indexedAt: Date | null; isUpToDate: boolean; version: string }

/**
 * Without outbox rows in the snapshot, every change committed before it is in the index. With
 * outbox rows, the instant that the indexer recorded applies. A trigger increments the version in
 * the transaction that deletes outbox rows, after the engine has applied them.
 */
async function readIndexRow(db: Kysely<Tables>, engineName: string): Promise<IndexRow | undefined> {
  const { rows } = await sql<IndexRow>`
    select case when is_pending then indexed_at else now() end as "indexedAt",
      not is_pending as "isUpToDate",
      version::text as version
    from (
      select indexed_at, version,
        indexed_at is null
          or exists (select from product_changes where engine = e.name) as is_pending
      from search_engines e where name = ${engineName}
    ) as engine
  `.execute(db)
  return rows[0]
}
