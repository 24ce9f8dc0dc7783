// What is known of the index, followed in the background four times a second: up to which instant it holds every committed change, and whether
// it changed since an answer was remembered.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'

export type Freshness = {
  indexedAt(): string | null
  /** Names the present contents of the index; null while they may be changing or nobody knows, and then nothing may be answered from memory. */
  version(): string | null
  stop(): void
}

const followEveryMs = 250
/** How long a look is believed: with the time that one takes, a changed index is noticed within a second on every instance. */
const believedForMs = 700

/** Follows one engine. With PostgreSQL away the last known instant stays, and there is no version. */
export function followFreshness(db: Kysely<Tables>, engineName: string): Freshness {
  let known: string | null = null
  let version: string | null = null
  let lookedAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout
  let stopped = false

  async function follow(): Promise<void> {
    const startedAt = performance.now()
    const state = await readState(db, engineName).catch(() => undefined)
    if (state) {
      const instant = state.indexedAt?.toISOString() ?? null
      if (instant !== null && (known === null || instant > known)) known = instant
      version = state.inStep ? state.version : null
      lookedAt = startedAt
    }
    if (!stopped) timer = setTimeout(follow, followEveryMs).unref()
  }
  timer = setTimeout(follow, 0).unref()

  return {
    indexedAt: () => known,
    version: () => (performance.now() - lookedAt < believedForMs ? version : null),
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

type State = { indexedAt: Date | null; inStep: boolean; version: string }

/**
 * A snapshot without pending rows means that every change committed before it is in the index; until then the instant that the indexer recorded
 * stands. The version moves, by trigger, in the transaction that deletes pending rows, which is after the engine applied them.
 */
async function readState(db: Kysely<Tables>, engineName: string): Promise<State | undefined> {
  const { rows } = await sql<State>`
    select case when pending then indexed_at else now() end as "indexedAt", not pending as "inStep", version::text as version
    from (
      select name, indexed_at, version, indexed_at is null or exists (select from product_changes where engine = e.name) as pending
      from search_engines e where name = ${engineName}
    ) as engine
  `.execute(db)
  return rows[0]
}
