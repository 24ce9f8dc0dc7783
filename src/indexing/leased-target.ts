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
   * The name of the index's row in search_engines, and the value of the column `engine` of its
   * outbox rows. It is the configured name of the engine with the shape of the index.
   */
  registrationName: string
}

/** An index to which this process may write while it holds the lease. */
export type LeasedTarget = IndexAddress & { lease: Lease; progress: OutboxProgress }
