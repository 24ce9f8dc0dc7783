// Where an index and its outbox are, and the right to write to them.
import type { Kysely } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import type { Lease } from './indexer-lease.ts'
import type { OutboxProgress } from './outbox-progress.ts'

export type IndexAddress = {
  db: Kysely<Tables>
  /** A client of the engine that has the index. */
  client: Meilisearch
  indexName: string
  /**
   * Identifies one index: SEARCH_ENGINE plus a hash of the shape of the index. It is the key of
   * search_indexes, and `registration_name` of the outbox.
   */
  registrationName: string
}

/** An index to which this process may write while it holds the lease. */
export type LeasedTarget = IndexAddress & {
  /**
   * Its key may create indexes and read every task. The key of `client` is limited to the live
   * index and the next one.
   */
  taskClient: Meilisearch
  lease: Lease
  progress: OutboxProgress
}

/** The name of the index that a rebuild creates and then swaps with the live index. */
export const nextIndexName = (indexName: string) => `${indexName}_next`

/**
 * The name under which outbox rows and parked documents of the next index are stored. No row of
 * search_indexes has it.
 */
export const nextRegistrationName = (registrationName: string) => `${registrationName}~next`
