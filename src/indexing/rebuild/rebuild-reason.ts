// Decides whether the index must be rebuilt, and why.
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import type { SyncTarget } from '../change-sync.ts'
import { indexExists, readNewestTask } from '../engine-tasks.ts'
import { readIndexRecord } from '../index-status.ts'
import { countParkedDocuments } from '../parked-documents.ts'
import { indexSettings } from '../settings/index-settings.ts'
import { computeIndexShape } from './index-shape.ts'

export type RebuildReason =
  | 'index_missing'
  | 'contents_unknown'
  | 'engine_restored'
  | 'shape_changed'
  | 'settings_changed'
  | 'catalogue_emptied'
  | 'rebuild_requested'
  | 'count_mismatch'

/** The sentence that is logged for each reason. */
export const rebuildReasonTexts: Record<RebuildReason, string> = {
  index_missing: 'The index does not exist.',
  contents_unknown: 'It is not recorded which changes the index contains.',
  engine_restored: 'The search engine was restored to an older state.',
  shape_changed: 'This version has other index settings or builds documents differently.',
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
  reason === 'engine_restored' || reason === 'catalogue_emptied'

/**
 * Returns why the index must be rebuilt; null if it need not be. Does not check the number of
 * documents: see `hasExpectedCount`.
 * `taskClient` must have a key that may read every task.
 */
export async function findRebuildReason(
  { db, engine, indexName, engineName }: SyncTarget,
  taskClient: Meilisearch = engine,
): Promise<RebuildReason | null> {
  const record = await readIndexRecord(db, engineName)
  if (!(await indexExists(engine, indexName))) return 'index_missing'
  if (!record || record.indexedAt === null) return 'contents_unknown'
  if (record.lastTask !== null && (await readNewestTask(taskClient)) < Number(record.lastTask))
    return 'engine_restored'
  if (record.shape !== computeIndexShape()) return 'shape_changed'
  if (!(await hasExpectedSettings(engine, indexName))) return 'settings_changed'
  if (record.wasTruncated) return 'catalogue_emptied'
  if (record.rebuildRequestedAt !== null) return 'rebuild_requested'
  return null
}

async function hasExpectedSettings(engine: Meilisearch, indexName: string): Promise<boolean> {
  const settings: Record<string, unknown> = { ...(await engine.index(indexName).getSettings()) }
  return Object.entries(indexSettings).every(([name, expected]) =>
    isDeepStrictEqual(settings[name], expected),
  )
}

/**
 * Whether the number of documents matches the number of active products, less parked documents.
 * Also true while changes are pending or being applied, because the numbers differ then.
 */
export async function hasExpectedCount({
  db,
  engine,
  indexName,
  engineName,
}: SyncTarget): Promise<boolean> {
  const { rows } = await sql<{ productCount: number; hasPending: boolean }>`
    select (select count(*) from products where active)::int as "productCount",
      exists (select from product_changes where engine = ${engineName}) as "hasPending"
  `.execute(db)
  const parkedCount = await countParkedDocuments(db, engineName)
  const { numberOfDocuments, isIndexing } = await engine.index(indexName).getStats()
  const { productCount, hasPending } = rows[0] ?? { productCount: 0, hasPending: true }
  if (hasPending || isIndexing) return true
  return numberOfDocuments <= productCount && numberOfDocuments >= productCount - parkedCount
}
