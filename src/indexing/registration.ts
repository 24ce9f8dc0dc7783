// The registration of an index: its row in search_indexes. Only this file writes it, except for
// `used_at` (search-engine/index-state-follower.ts). Its columns, and in brackets what sets them:
//
// registration_name      Identifies the index, such as main-1a2b3c4d. [addRegistration]
// registered_in          The transaction that added the row. [addRegistration]
//                        Null after all older transactions have ended. [markRegistered]
// index_name, shape      The name and the shape of the live index. [markRebuilt]
// is_writing             True from the start of a write to the index [markWriting] until the row
//                        says what the index contains now [markSettled, markRebuilt]. So it stays
//                        true after a crash, and after a failover until the index has been
//                        compared. True in a new row.
// settled_snapshot       The index contains every change that it sees. [markSettled]
//                        After a rebuild it sees none. [markRebuilt]
// indexed_at             The index contains every change until then. [markSettled, markRebuilt]
//                        Null if its contents are unknown. [markContentsUnknown,
//                        markSeveralServers]
// version                Rises when the contents of the index may have changed. [markSettled,
//                        markRebuilt, markCompared, storeSynonymsVersion]
// last_task_uid          The newest known task of the engine. [storeLastTask, markRebuilt]
// last_task_enqueued_at  When that task was enqueued. [storeLastTask, markRebuilt]
// database_identity      The database whose changes the index contains. [markRebuilt,
//                        markCompared, forceFailoverCheck]
// synonyms_version       The version of the synonyms that were sent last. [markRebuilt,
//                        storeSynonymsVersion]
// rebuild_requested_at   When a rebuild was requested. [requestRebuild]
//                        Null after the rebuild. [markRebuilt]
// has_several_servers    True if the URL of the engine leads to several servers.
//                        [markSeveralServers]
// used_at                When an API used the index last. [recordUse of the API]
import { type Kysely, sql } from 'kysely'
import { differsOnlyInTimeline, isOfThisDatabase } from '../database/database-identity.ts'
import type { Tables } from '../database/table-types.ts'
import { computeIndexShape } from './documents/index-shape.ts'
import type { EngineTask } from './engine/engine-tasks.ts'
import type { LiveTarget } from './index-address.ts'
import { executeUnderLease, type LeasedTransaction } from './lease/indexer-lease.ts'
import { emptySnapshot, type OutboxRead } from './outbox.ts'

export type Registration = {
  indexedAt: Date | null
  shape: string | null
  /** The newest task of the engine that is known to belong to the index; null if none is. */
  lastTask: EngineTask | null
  /** Whether the index may have changed since it was last settled or rebuilt (`is_writing`). */
  mayHaveUnrecordedWrites: boolean
  rebuildRequestedAt: Date | null
  isOfThisDatabase: boolean
  hasFailedOver: boolean
  /** Whether the table of products was truncated and the index was not rebuilt since. */
  hasPendingTruncation: boolean
}

const lastTaskColumns = ({ taskNumber, enqueuedAt }: EngineTask) => sql`
  last_task_uid = ${taskNumber}, last_task_enqueued_at = ${enqueuedAt}
`

/** Returns the registration of the index; undefined if the index is not registered. */
export async function readRegistration(
  db: Kysely<Tables>,
  registrationName: string,
): Promise<Registration | undefined> {
  const row = await db
    .selectFrom('search_indexes')
    .select((eb) => [
      'indexed_at as indexedAt',
      'shape',
      'last_task_uid as lastTaskNumber',
      'last_task_enqueued_at as lastTaskEnqueuedAt',
      'is_writing as mayHaveUnrecordedWrites',
      'rebuild_requested_at as rebuildRequestedAt',
      isOfThisDatabase.as('isOfThisDatabase'),
      sql<boolean>`${differsOnlyInTimeline(sql`database_identity()`)}`.as('hasFailedOver'),
      eb
        .exists(
          eb
            .selectFrom('index_outbox')
            .select('id')
            .where('registration_name', '=', registrationName)
            .where('product_id', 'is', null),
        )
        .$castTo<boolean>()
        .as('hasPendingTruncation'),
    ])
    .where('registration_name', '=', registrationName)
    .executeTakeFirst()
  if (!row) return undefined
  const { lastTaskNumber, lastTaskEnqueuedAt, ...others } = row
  const lastTask =
    lastTaskNumber === null
      ? null
      : { taskNumber: Number(lastTaskNumber), enqueuedAt: lastTaskEnqueuedAt }
  return { ...others, lastTask }
}

/** Adds a registration if there is none, and returns its `registered_in`. */
export async function addRegistration(
  db: Kysely<Tables>,
  registrationName: string,
): Promise<string | null> {
  await sql`
    insert into search_indexes (registration_name, registered_in)
    values (${registrationName}, pg_current_xact_id())
    on conflict do nothing
  `.execute(db)
  const row = await db
    .selectFrom('search_indexes')
    .select('registered_in')
    .where('registration_name', '=', registrationName)
    .executeTakeFirstOrThrow()
  return row.registered_in
}

/** Marks that every transaction that began before the one in `registered_in` has ended. */
export async function markRegistered(
  db: Kysely<Tables>,
  registrationName: string,
  registeredIn: string,
): Promise<void> {
  await db
    .updateTable('search_indexes')
    .set({ registered_in: null })
    .where('registration_name', '=', registrationName)
    .where('registered_in', '=', registeredIn)
    .execute()
}

export async function deleteRegistration(
  transaction: LeasedTransaction,
  registrationName: string,
): Promise<void> {
  await sql`delete from search_indexes where registration_name = ${registrationName}`.execute(
    transaction,
  )
}

/**
 * Marks that the index will be written to. Until `markSettled` or `markRebuilt` is called, no
 * cached answer is used. Throws LeaseLost.
 */
export async function markWriting({ db, lease, registrationName }: LiveTarget): Promise<void> {
  await executeUnderLease(db, lease, async (transaction) => {
    await transaction
      .updateTable('search_indexes')
      .set({ is_writing: true })
      .where('registration_name', '=', registrationName)
      .execute()
  })
}

/** Stores a task of the engine that belongs to the index, unless it has a newer one. */
export async function storeLastTask(
  transaction: LeasedTransaction,
  registrationName: string,
  task: EngineTask,
): Promise<void> {
  await sql`
    update search_indexes set ${lastTaskColumns(task)}
    where registration_name = ${registrationName}
      and coalesce(last_task_uid < ${task.taskNumber}, true)
  `.execute(transaction)
}

/**
 * Marks that the index contains every change that the snapshot sees. The read must have reached the
 * end of the outbox. While the index is being compared after a failover, it may still contain lost
 * changes. Until the comparison is complete, `is_writing` stays true and `indexed_at` does not
 * change, even if an indexer starts over. If it is unknown what the index contains, `indexed_at`
 * stays null until the index is rebuilt.
 */
export async function markSettled(
  transaction: LeasedTransaction,
  registrationName: string,
  { snapshot, readAt }: OutboxRead,
): Promise<void> {
  const isUncompared = sql`coalesce(not ${isOfThisDatabase}, false)`
  // The contents can only have changed if something was being written.
  await sql`
    update search_indexes set
      version = version + is_writing::int,
      is_writing = ${isUncompared},
      settled_snapshot = ${snapshot}::pg_snapshot,
      indexed_at = case when ${isUncompared} or indexed_at is null then indexed_at
        else greatest(indexed_at, ${readAt}) end
    where registration_name = ${registrationName}
  `.execute(transaction)
}

/** Marks that nothing is known about the contents of the index, or that it does not exist. */
export async function markContentsUnknown(
  transaction: LeasedTransaction,
  registrationName: string,
): Promise<void> {
  await transaction
    .updateTable('search_indexes')
    .set({ indexed_at: null })
    .where('registration_name', '=', registrationName)
    .execute()
}

/**
 * Marks a new index, which contains every change committed before `startedAt`. Keeps a request
 * for a rebuild that was made afterwards.
 */
export async function markRebuilt(
  transaction: LeasedTransaction,
  { registrationName, indexName }: { registrationName: string; indexName: string },
  rebuilt: { startedAt: Date; task: EngineTask; synonymsVersion: string },
): Promise<void> {
  const { startedAt, task, synonymsVersion } = rebuilt
  await sql`
    update search_indexes set
      shape = ${computeIndexShape()},
      version = version + 1,
      ${lastTaskColumns(task)},
      index_name = ${indexName},
      synonyms_version = ${synonymsVersion},
      database_identity = database_identity(),
      is_writing = false,
      settled_snapshot = ${emptySnapshot}::pg_snapshot,
      indexed_at = greatest(indexed_at, ${startedAt}),
      rebuild_requested_at = case
        when rebuild_requested_at > ${startedAt} then rebuild_requested_at
      end
    where registration_name = ${registrationName}
  `.execute(transaction)
}

/** Marks that the index was compared with this database after a failover. */
export async function markCompared(
  transaction: LeasedTransaction,
  registrationName: string,
): Promise<void> {
  await sql`
    update search_indexes
    set database_identity = database_identity(), version = version + 1
    where registration_name = ${registrationName}
  `.execute(transaction)
}

/**
 * Stores `identity` as the database that wrote the index last, so that readRegistration() reports a
 * failover. Does nothing unless the registration names this database, and `identity` is this
 * database on another timeline.
 */
export async function forceFailoverCheck(
  transaction: LeasedTransaction,
  registrationName: string,
  identity: string,
): Promise<void> {
  await sql`
    update search_indexes set database_identity = ${identity}
    where registration_name = ${registrationName}
      and ${isOfThisDatabase}
      and ${differsOnlyInTimeline(sql`${identity}`)}
  `.execute(transaction)
}

/**
 * Stores the version of the synonyms that were sent. If the engine has rejected them again, changes
 * nothing.
 */
export async function storeSynonymsVersion(
  transaction: LeasedTransaction,
  registrationName: string,
  { synonymsVersion, isAccepted }: { synonymsVersion: string; isAccepted: boolean },
): Promise<void> {
  await sql`
    update search_indexes
    set synonyms_version = ${synonymsVersion}, version = version + 1
    where registration_name = ${registrationName}
      and (${isAccepted} or synonyms_version is distinct from ${synonymsVersion})
  `.execute(transaction)
}

/**
 * Marks whether the URL of the engine leads to several servers. If it does, the contents of the
 * index are unknown: the API does not use the index, and it is built again afterwards.
 */
export async function markSeveralServers(
  transaction: LeasedTransaction,
  registrationName: string,
  hasSeveral: boolean,
): Promise<void> {
  await transaction
    .updateTable('search_indexes')
    .set({ has_several_servers: hasSeveral, ...(hasSeveral && { indexed_at: sql`null` }) })
    .where('registration_name', '=', registrationName)
    .where('has_several_servers', '<>', hasSeveral)
    .execute()
}

/** Requests a rebuild. Stores the time of the database: the clock of this machine may be ahead. */
export async function requestRebuild(db: Kysely<Tables>, registrationName: string): Promise<void> {
  await sql`
    update search_indexes set rebuild_requested_at = now()
    where registration_name = ${registrationName}
  `.execute(db)
}

/** Whether somebody requested a rebuild that has not been completed. */
export async function isRebuildRequested(
  db: Kysely<Tables>,
  registrationName: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('search_indexes')
    .select('rebuild_requested_at')
    .where('registration_name', '=', registrationName)
    .executeTakeFirst()
  return row !== undefined && row.rebuild_requested_at !== null
}
