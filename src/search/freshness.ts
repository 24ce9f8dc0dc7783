// Up to which instant the index is known to hold every committed change, followed in the background four times a second.
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/tables.ts'

export type Freshness = { indexedAt(): string | null; stop(): void }

const followEveryMs = 250

/**
 * Follows one engine. A snapshot without pending rows means that every change committed before it is in the index; until then the instant that
 * the indexer recorded stands. With PostgreSQL away the last known instant stays.
 */
export function followFreshness(db: Kysely<Tables>, engineName: string): Freshness {
  let known: Date | null = null
  let timer: NodeJS.Timeout
  let stopped = false

  async function follow(): Promise<void> {
    const instant = await readIndexedAt(db, engineName).catch(() => null)
    if (instant && (!known || instant > known)) known = instant
    if (!stopped) timer = setTimeout(follow, followEveryMs).unref()
  }
  timer = setTimeout(follow, 0).unref()

  return {
    indexedAt: () => known?.toISOString() ?? null,
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** The instant as of now, null while this engine has no index yet. */
export async function readIndexedAt(db: Kysely<Tables>, engineName: string): Promise<Date | null> {
  const row = await db
    .selectFrom('search_engines')
    .select((eb) => [
      // now() is before the statement's snapshot: what committed before it is seen as pending, or was indexed.
      sql<Date | null>`case when indexed_at is null or exists ${eb
        .selectFrom('product_changes')
        .select('id')
        .where('engine', '=', engineName)} then indexed_at else now() end`.as('indexed_at'),
    ])
    .where('name', '=', engineName)
    .executeTakeFirst()
  return row?.indexed_at ?? null
}
