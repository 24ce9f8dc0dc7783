// Decides whether the index must be rebuilt, and why.
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import type { Meilisearch } from 'meilisearch'
import {
  indexExists,
  lookUpTask,
  readNewestTaskNumber,
  uploadTypes,
} from '../engine/engine-tasks.ts'
import type { IndexAddress, LiveTarget } from '../index-address.ts'
import { type Registration, readRegistration } from '../registration.ts'
import { indexSettings } from '../settings/index-settings.ts'
import { computeIndexShape } from './index-shape.ts'

type ReasonRules = {
  /** Is logged. */
  text: string
  /**
   * The live index is deleted before the rebuild, because its results would be wrong. PostgreSQL
   * answers searches until the new index is live.
   */
  deletesIndexFirst?: true
  /**
   * What to check if a rebuild did not remove the reason. It is logged. Only reasons with this back
   * off: another rebuild would probably not help either, so it must wait (rebuild-backoff.ts).
   */
  adviceIfRepeated?: string
}

const reasons = {
  index_missing: { text: 'The index does not exist.' },
  contents_unknown: { text: 'It is not known what the index contains.' },
  engine_restored: {
    text: 'The search engine was restored to an older state.',
    deletesIndexFirst: true,
  },
  task_deleted: {
    text: 'The search engine has deleted the task that tells whether it was restored.',
  },
  database_restored: {
    text: 'The index contains changes that this database does not have.',
    deletesIndexFirst: true,
  },
  shape_changed: {
    text: 'This version has different index settings or builds documents differently.',
    adviceIfRepeated: 'Is an indexer of another version running for the same index?',
  },
  settings_changed: {
    text: 'The settings of the index were changed in the search engine.',
    adviceIfRepeated:
      'Does another program change them, or does Meilisearch return them in a different form?',
  },
  catalogue_emptied: { text: 'The table of products was truncated.', deletesIndexFirst: true },
  rebuild_requested: { text: 'A rebuild was requested.' },
  count_mismatch: {
    text: 'The number of documents differs from the number of products.',
    adviceIfRepeated:
      'Does another program write to the index? `scripts/indexer.ts verify` lists what differs.',
  },
} satisfies Record<string, ReasonRules>

export type RebuildReason = keyof typeof reasons

export const rebuildReasons: Record<RebuildReason, ReasonRules> = reasons

/**
 * Returns why the index must be rebuilt; null if it need not be. Does not check the number of
 * documents: see `hasUnexplainedCountDifference`.
 */
export async function findRebuildReason(target: LiveTarget): Promise<RebuildReason | null> {
  const { db, client, indexName, registrationName } = target
  const registration = await readRegistration(db, registrationName)
  if (!(await indexExists(client, indexName))) return 'index_missing'
  if (!registration || registration.indexedAt === null) return 'contents_unknown'
  const restored = await findRestored(registration, target)
  if (restored !== null) return restored
  // Before the reasons that back off: such a rebuild may have to wait.
  if (registration.wasTruncated) return 'catalogue_emptied'
  if (registration.rebuildRequestedAt !== null) return 'rebuild_requested'
  if (registration.shape !== computeIndexShape()) return 'shape_changed'
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
 * Returns which of the engine and the database was restored to an older state, if one was; null if
 * none was. The engine numbers its tasks. A restored engine does not know the task of the
 * registration, or has given its number to a different one. While nothing is being written, an
 * upload that is newer than that task means that the database has lost a commit of the
 * registration, because only the indexer with the lease uploads documents. If the task was deleted,
 * nobody can tell: then the index is rebuilt, and searches go on using it meanwhile.
 */
async function findRestored(
  { lastTask, isWriting, isOfThisDatabase }: Registration,
  { taskClient, indexName }: LiveTarget,
): Promise<'engine_restored' | 'task_deleted' | 'database_restored' | null> {
  if (!isOfThisDatabase) return 'database_restored'
  if (lastTask === null) return null
  const lookup = await lookUpTask(taskClient, lastTask)
  if (lookup === 'never enqueued') return 'engine_restored'
  if (lookup === 'deleted') return 'task_deleted'
  if (isWriting) return null
  const newest = await readNewestTaskNumber(taskClient, indexName, uploadTypes)
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
  const { rows } = await sql<{ productCount: number; parkedCount: number; hasPending: boolean }>`
    select
      (select count(*) from products where active)::int as "productCount",
      (
        select count(*)::int from index_parked_documents
        where registration_name = ${registrationName}
      ) as "parkedCount",
      exists (
        select from index_outbox where registration_name = ${registrationName}
      ) as "hasPending"
  `.execute(db)
  const { numberOfDocuments, isIndexing } = await client.index(indexName).getStats()
  const [row] = rows
  if (!row || row.hasPending || isIndexing) return false
  const { productCount, parkedCount } = row
  return numberOfDocuments > productCount || numberOfDocuments < productCount - parkedCount
}
