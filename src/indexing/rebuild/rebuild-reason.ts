// Decides whether the index must be rebuilt, and why.
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import { countParkedDocuments } from '../documents/parked-documents.ts'
import {
  hasEngineTask,
  indexExists,
  readNewestTaskNumber,
  uploadTypes,
} from '../engine/engine-tasks.ts'
import { type IndexRecord, readIndexRecord } from '../index-record.ts'
import type { IndexAddress } from '../leased-target.ts'
import { indexSettings } from '../settings/index-settings.ts'
import { computeIndexShape } from './index-shape.ts'

export type RebuildReason =
  | 'index_missing'
  | 'contents_unknown'
  | 'engine_restored'
  | 'database_restored'
  | 'shape_changed'
  | 'settings_changed'
  | 'catalogue_emptied'
  | 'rebuild_requested'
  | 'count_mismatch'

/** The sentence that is logged for each reason. */
export const rebuildReasonTexts: Record<RebuildReason, string> = {
  index_missing: 'The index does not exist.',
  contents_unknown: 'There is no record of what the index contains.',
  engine_restored: 'The search engine was restored to an older state.',
  database_restored: 'The index contains changes that this database does not have.',
  shape_changed: 'This version has different index settings or builds documents differently.',
  settings_changed: 'The settings of the index were changed in the search engine.',
  catalogue_emptied: 'The table of products was truncated.',
  rebuild_requested: 'A rebuild was requested.',
  count_mismatch: 'The number of documents differs from the number of products.',
}

/**
 * Whether the live index is deleted before the rebuild, because its results would be wrong.
 * PostgreSQL answers searches until the new index is live.
 */
export const mustDeleteIndexFirst = (reason: RebuildReason) =>
  reason === 'engine_restored' || reason === 'database_restored' || reason === 'catalogue_emptied'

/**
 * Returns why the index must be rebuilt; null if it need not be. Does not check the number of
 * documents: see `hasUnexplainedCountDifference`.
 * `rebuildClient` must have a key that may read every task.
 */
export async function findRebuildReason(
  { db, client, indexName, registrationName }: IndexAddress,
  rebuildClient: Meilisearch = client,
): Promise<RebuildReason | null> {
  const record = await readIndexRecord(db, registrationName)
  if (!(await indexExists(client, indexName))) return 'index_missing'
  if (!record || record.indexedAt === null) return 'contents_unknown'
  const restored = await findRestored(record, indexName, rebuildClient)
  if (restored !== null) return restored
  // Before the reasons whose rebuilds may have to wait (rebuild-backoff.ts).
  if (record.wasTruncated) return 'catalogue_emptied'
  if (record.rebuildRequestedAt !== null) return 'rebuild_requested'
  if (record.shape !== computeIndexShape()) return 'shape_changed'
  if (!(await hasExpectedSettings(client, indexName))) return 'settings_changed'
  return null
}

async function hasExpectedSettings(client: Meilisearch, indexName: string): Promise<boolean> {
  const settings: Record<string, unknown> = { ...(await client.index(indexName).getSettings()) }
  return isPartOf(indexSettings, settings)
}

/**
 * Whether `actual` has every value of `expected`. A different version of the engine may return
 * further members, with their defaults.
 */
export function isPartOf(expected: unknown, actual: unknown): boolean {
  if (typeof expected !== 'object' || expected === null || Array.isArray(expected))
    return isDeepStrictEqual(expected, actual)
  if (typeof actual !== 'object' || actual === null) return false
  const members: Record<string, unknown> = { ...actual }
  return Object.entries(expected).every(([name, value]) => isPartOf(value, members[name]))
}

/**
 * Returns which of the engine and the database was restored to an older state, if one was. The
 * engine numbers its tasks. A restored engine does not know the recorded task, or has given its
 * number to a different one. While nothing is being written, an upload that is newer than the
 * recorded task means that the database has lost a record, because only the indexer with the lease
 * uploads documents.
 */
async function findRestored(
  { lastTask, isWriting, isOfThisDatabase }: IndexRecord,
  indexName: string,
  rebuildClient: Meilisearch,
): Promise<'engine_restored' | 'database_restored' | null> {
  if (!isOfThisDatabase) return 'database_restored'
  if (lastTask === null) return null
  if (!(await hasEngineTask(rebuildClient, lastTask))) return 'engine_restored'
  if (isWriting) return null
  const newest = await readNewestTaskNumber(rebuildClient, indexName, uploadTypes)
  return newest !== null && newest > lastTask.number ? 'database_restored' : null
}

/**
 * Whether the number of documents differs from that of active products by more than the parked
 * documents. False while changes are pending or being applied: they explain a difference.
 */
export async function hasUnexplainedCountDifference({
  db,
  client,
  indexName,
  registrationName,
}: IndexAddress): Promise<boolean> {
  const { rows } = await sql<{ productCount: number; hasPending: boolean }>`
    select (select count(*) from products where active)::int as "productCount",
      exists (select from product_changes where engine = ${registrationName}) as "hasPending"
  `.execute(db)
  const parkedCount = await countParkedDocuments(db, registrationName)
  const { numberOfDocuments, isIndexing } = await client.index(indexName).getStats()
  const { productCount, hasPending } = rows[0] ?? { productCount: 0, hasPending: true }
  if (hasPending || isIndexing) return false
  return numberOfDocuments > productCount || numberOfDocuments < productCount - parkedCount
}
