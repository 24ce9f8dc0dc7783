// Reads the record of an index: its row in search_engines. Requests its rebuild.
import { type Kysely, sql } from 'kysely'
import { differsOnlyInTimeline } from '../database/database-identity.ts'
import type { Tables } from '../database/table-types.ts'
import type { EngineTask } from './engine/engine-tasks.ts'

export type IndexRecord = {
  /** The index contains every change up to this instant. Null if its contents are unknown. */
  indexedAt: Date | null
  shape: string | null
  /** The newest task that is recorded. Null if none is. */
  lastTask: EngineTask | null
  isWriting: boolean
  rebuildRequestedAt: Date | null
  isOfThisDatabase: boolean
  hasFailedOver: boolean
  /** Whether the table of products was truncated and the index was not rebuilt since. */
  wasTruncated: boolean
}

/** Returns the record of the index in PostgreSQL; undefined if the engine is not registered. */
export async function readIndexRecord(
  db: Kysely<Tables>,
  registrationName: string,
): Promise<IndexRecord | undefined> {
  const row = await db
    .selectFrom('search_engines')
    .select((eb) => [
      'indexed_at as indexedAt',
      'shape',
      'last_task as lastTask',
      'last_task_at as lastTaskAt',
      'is_writing as isWriting',
      'rebuild_asked_at as rebuildRequestedAt',
      sql<boolean>`database_identity = database_identity()`.as('isOfThisDatabase'),
      sql<boolean>`${differsOnlyInTimeline(sql`database_identity()`)}`.as('hasFailedOver'),
      eb
        .exists(
          eb
            .selectFrom('product_changes')
            .select('id')
            .where('engine', '=', registrationName)
            .where('product_id', 'is', null),
        )
        .$castTo<boolean>()
        .as('wasTruncated'),
    ])
    .where('name', '=', registrationName)
    .executeTakeFirst()
  if (!row) return undefined
  const { lastTask, lastTaskAt, ...others } = row
  const task = lastTask === null ? null : { number: Number(lastTask), acceptedAt: lastTaskAt }
  return { ...others, lastTask: task }
}

/** Whether somebody requested a rebuild that has not been completed. */
export async function isRebuildRequested(
  db: Kysely<Tables>,
  registrationName: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('search_engines')
    .select('rebuild_asked_at')
    .where('name', '=', registrationName)
    .executeTakeFirst()
  return row !== undefined && row.rebuild_asked_at !== null
}

/** Requests a rebuild. Records the time of the database: the caller's clock may be ahead. */
export async function requestRebuild(db: Kysely<Tables>, registrationName: string): Promise<void> {
  await sql`
    update search_engines set rebuild_asked_at = now() where name = ${registrationName}
  `.execute(db)
}
