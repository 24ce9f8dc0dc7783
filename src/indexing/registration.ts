// The registration of an index in the table search_indexes: what the index contains.
// database/schema/40-search-index.sql explains the columns and the states.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import { isOfThisDatabase } from '../database/database-identity.ts'
import type { Tables } from '../database/table-types.ts'
import { hasFailedOver } from '../search-engine/index-states.ts'
import type { EngineTask } from './engine.ts'
import type { Lease, LeasedTransaction } from './lease.ts'
import type { OutboxRead } from './outbox.ts'

// Happens once for each new index. Most transactions are short.
const olderTransactionsPauseMs = 100

/** The address of a live index. */
export type IndexAddress = {
  db: Kysely<Tables>
  /** A client of the engine. Its key may at least read the index. */
  client: Meilisearch
  indexName: string
  /** SEARCH_ENGINE with the version of the index. The key of search_indexes. */
  registrationName: string
}

/** An index to which this process may write while it holds the lease. */
export type IndexTarget = IndexAddress & { lease: Lease }

/** The name of the index that a rebuild creates beside the live one. */
export const nextIndexName = (indexName: string) => `${indexName}_next`

/** What is known about the contents of an index: `state` in search_indexes. */
export type ContentsState = 'unknown' | 'suspect' | 'writing' | 'settled'

export type Registration = {
  state: ContentsState
  /** The last task of the engine that is known to belong to the index; null if none is. */
  lastTask: EngineTask | null
  rebuildRequestedAt: Date | null
  isOfThisDatabase: boolean
  /** Whether the index is of this database before a failover of less than a minute ago. */
  hasFailedOver: boolean
  /** Whether the table of products was truncated and the index was not rebuilt since. */
  hasPendingTruncation: boolean
}

/**
 * Registers the index if it is new. Transactions that began before may have added no outbox rows,
 * so before the first build, which records the identity of the database, each indexer waits until
 * all of them have ended. `onWait` is called once if there are such transactions. Throws the reason
 * of `signal` when it is aborted.
 */
export async function registerIndex(
  db: Kysely<Tables>,
  registrationName: string,
  { onWait = () => {}, signal }: { onWait?: () => void; signal?: AbortSignal } = {},
): Promise<void> {
  await sql`
    with registered as (
      insert into search_indexes (registration_name) values (${registrationName})
      on conflict do nothing
      returning registration_name
    )
    insert into index_leases (registration_name) select registration_name from registered
  `.execute(db)
  const { rows } = await sql<{ xid: string }>`
    select pg_current_xact_id()::text as xid from search_indexes
    where registration_name = ${registrationName} and database_identity is null
  `.execute(db)
  const [later] = rows
  for (let attempt = 1; later && (await hasOlderTransaction(db, later.xid)); attempt++) {
    if (attempt === 1) onWait()
    // The signal ends the pause, and its reason is thrown.
    await sleep(olderTransactionsPauseMs, undefined, { signal }).catch(() => undefined)
    signal?.throwIfAborted()
  }
}

async function hasOlderTransaction(db: Kysely<Tables>, xid: string): Promise<boolean> {
  const { rows } = await sql`select where has_older_transaction(${xid}::xid8)`.execute(db)
  return rows.length > 0
}

/** Returns the registration of the index; undefined if the index is not registered. */
export async function readRegistration(
  db: Kysely<Tables>,
  registrationName: string,
): Promise<Registration | undefined> {
  const { rows } = await sql<Registration>`
    select state,
      last_task as "lastTask",
      rebuild_requested_at as "rebuildRequestedAt",
      ${isOfThisDatabase} as "isOfThisDatabase",
      coalesce(${hasFailedOver(sql`database_identity()`)}, false) as "hasFailedOver",
      exists (
        select from index_outbox
        where index_outbox.registration_name = search_indexes.registration_name
          and product_id is null
      ) as "hasPendingTruncation"
    from search_indexes where registration_name = ${registrationName}
  `.execute(db)
  return rows[0]
}

/**
 * Returns the work of a transaction that marks the index as being written to. Until markSettled or
 * markRebuilt, no cached answer is used.
 */
export const markWriting =
  ({ registrationName }: Pick<IndexAddress, 'registrationName'>) =>
  async (transaction: LeasedTransaction): Promise<void> => {
    await sql`
      update search_indexes set state = 'writing'
      where registration_name = ${registrationName} and state = 'settled'
    `.execute(transaction)
  }

/** Stores the last task of the engine that belongs to the index. */
export async function storeLastTask(
  transaction: LeasedTransaction,
  registrationName: string,
  task: EngineTask,
): Promise<void> {
  await sql`
    update search_indexes set last_task = ${JSON.stringify(task)}::jsonb
    where registration_name = ${registrationName}
  `.execute(transaction)
}

/**
 * Marks that the index contains every change that the read sees. The read must have reached the end
 * of the outbox. Contents that are unknown or suspect stay so until the index is rebuilt.
 */
export async function markSettled(
  transaction: LeasedTransaction,
  registrationName: string,
  { endedBefore, readAt }: OutboxRead,
): Promise<void> {
  // The contents can only have changed if something was being written.
  await sql`
    update search_indexes set
      version = version + (state = 'writing')::int,
      state = case when state = 'writing' then 'settled' else state end,
      settled_before = ${endedBefore}::xid8,
      indexed_at = case when state in ('writing', 'settled') then greatest(indexed_at, ${readAt})
        else indexed_at end
    where registration_name = ${registrationName}
  `.execute(transaction)
}

/**
 * Marks what this database knows about the index before it is rebuilt. `unknown`: nothing, so
 * PostgreSQL answers. `suspect`: it may have changes that a failover has lost; it is used, but no
 * cached answers. `settled`: a failover has lost nothing that it contains.
 */
export async function markContents(
  transaction: LeasedTransaction,
  registrationName: string,
  state: 'unknown' | 'suspect' | 'settled',
): Promise<void> {
  await sql`
    update search_indexes set
      state = ${state},
      version = version + 1,
      database_identity = database_identity(),
      settled_before = case when ${state} = 'unknown' then '0' else settled_before end,
      indexed_at = case when ${state} = 'unknown' then null else indexed_at end
    where registration_name = ${registrationName}
  `.execute(transaction)
}

/**
 * Marks a new index, which contains every change committed before `startedAt`. Keeps a request
 * for a rebuild that was made afterwards.
 */
export async function markRebuilt(
  transaction: LeasedTransaction,
  registrationName: string,
  rebuilt: { startedAt: Date; task: EngineTask | null; synonymsVersion: string },
): Promise<void> {
  const { startedAt, task, synonymsVersion } = rebuilt
  await sql`
    update search_indexes set
      state = 'settled',
      version = version + 1,
      last_task = ${JSON.stringify(task)}::jsonb,
      synonyms_version = ${synonymsVersion},
      database_identity = database_identity(),
      settled_before = '0',
      indexed_at = greatest(indexed_at, ${startedAt}),
      rebuild_requested_at = case
        when rebuild_requested_at > ${startedAt} then rebuild_requested_at
      end
    where registration_name = ${registrationName}
  `.execute(transaction)
}

/** Requests a rebuild. Stores the time of the database: the clock of this machine may be ahead. */
export async function requestRebuild(db: Kysely<Tables>, registrationName: string): Promise<void> {
  await sql`
    update search_indexes set rebuild_requested_at = now()
    where registration_name = ${registrationName}
  `.execute(db)
}
