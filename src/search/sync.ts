// Keeps the index in step with PostgreSQL: pending rows in, the products as they are now out, and a row is done when the engine says so.
import { type Kysely, sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { Tables } from '../database/tables.ts'
import { readDocuments } from './product-index.ts'
import { rebuild, succeeded } from './rebuild.ts'

const batchSize = 5_000
const taskWait = { timeout: 120_000, interval: 10 }

export type SyncTarget = { db: Kysely<Tables>; engine: Meilisearch; indexName: string; engineName: string }

/** Makes the database keep pending rows for this engine. Must come before the first build. */
export async function registerEngine(db: Kysely<Tables>, engineName: string): Promise<void> {
  await db
    .insertInto('search_engines')
    .values({ name: engineName })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/**
 * Carries one batch of pending changes into the index and returns how many rows it settled. At least once and idempotent: the rows are deleted
 * only after the engine applied them, and exactly those that were read, so that a change committed meanwhile stays pending.
 */
export async function syncBatch({ db, engine, indexName, engineName }: SyncTarget): Promise<number> {
  const { readAt } = await db.selectNoFrom(sql<Date>`clock_timestamp()`.as('readAt')).executeTakeFirstOrThrow()
  const pending = await db
    .selectFrom('product_changes')
    .select(['id', 'product_id'])
    .where('engine', '=', engineName)
    .orderBy('id')
    .limit(batchSize)
    .execute()
  if (pending.length === 0) return 0

  if (pending.some((row) => row.product_id === null)) {
    await rebuild(db, engine, { indexName, engineName })
  } else {
    const ids = [...new Set(pending.flatMap((row) => row.product_id ?? []))]
    const documents = await readDocuments(db, ids)
    const present = new Set(documents.map((document) => document.id))
    const absent = ids.filter((id) => !present.has(id))
    const index = engine.index(indexName)
    await Promise.all([
      documents.length > 0 ? succeeded(index.addDocuments(documents, { primaryKey: 'id' }).waitTask(taskWait)) : undefined,
      absent.length > 0 ? succeeded(index.deleteDocuments(absent).waitTask(taskWait)) : undefined,
    ])
  }
  await db
    .deleteFrom('product_changes')
    .where(
      'id',
      'in',
      pending.map((row) => row.id),
    )
    .execute()
  if (pending.length < batchSize) {
    await db.updateTable('search_engines').set({ indexed_at: readAt }).where('name', '=', engineName).execute()
  }
  return pending.length
}
