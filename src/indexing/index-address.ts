// Where an index and its outbox are, and the right to write to them (docs/architecture.md).
import type { Kysely } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import type { Lease } from './lease/indexer-lease.ts'
import { OutboxCursor } from './outbox.ts'

/** The address of a live index. */
export type IndexAddress = {
  db: Kysely<Tables>
  /** A client of the engine. Its key may at least read the index. */
  client: Meilisearch
  indexName: string
  /**
   * Identifies one live index: SEARCH_ENGINE plus a hash of the shape of the index. It is the key
   * of search_indexes, and the name of the outbox of the index.
   */
  registrationName: string
}

/** A live index, and a client that manages the keys of its engine. */
export type IndexWithKeys = Pick<IndexAddress, 'indexName' | 'registrationName'> & {
  /** Opened with the indexer's key, which creates and deletes keys, and writes no documents. */
  keyClient: Meilisearch
}

/**
 * An index to which this process may write while it holds the lease. The key of `client` writes to
 * the live index and the next one.
 */
type LeasedIndex = Pick<IndexAddress, 'db' | 'client' | 'indexName'> & {
  /** Its key creates indexes and reads every task. */
  taskClient: Meilisearch
  /** The lease of the live index, also for the next one. */
  lease: Lease
  outbox: OutboxCursor
}

/** The index that searches read, or will read after the first build. */
export type LiveTarget = LeasedIndex & IndexAddress & { kind: 'live' }

/** The index that a rebuild creates and then swaps with the live index. It has no registration. */
export type NextTarget = LeasedIndex & { kind: 'next' }

export type WriteTarget = LiveTarget | NextTarget

/** Returns the name of the next index beside this live index. */
export const nextIndexName = (indexName: string) => `${indexName}_next`

/** Returns the index that a rebuild builds beside this one. Its outbox has not been read yet. */
export function toNextTarget(live: LiveTarget): NextTarget {
  const { db, client, taskClient, lease } = live
  return {
    kind: 'next',
    db,
    client,
    taskClient,
    lease,
    indexName: nextIndexName(live.indexName),
    outbox: new OutboxCursor(db, nextOutboxName(live.registrationName)),
  }
}

/** Returns the name of the outbox of the next index. No row of search_indexes has it. */
export const nextOutboxName = (registrationName: string) => `${registrationName}~next`
