// Decides whether the index must be rebuilt, and why.
import { sql } from 'kysely'
import { countNoun } from '../../text/count-noun.ts'
import { computeIndexShape } from '../documents/index-shape.ts'
import {
  indexExists,
  lookUpTask,
  readNewestTaskNumber,
  uploadTypes,
} from '../engine/engine-tasks.ts'
import { requireFirstRow } from '../first-row.ts'
import type { IndexAddress, LiveTarget } from '../index-address.ts'
import { type Registration, readRegistration } from '../registration.ts'
import { listChangedSettings } from '../settings/settings-difference.ts'

type ReasonRules = {
  /** Is logged. */
  text: string
  /**
   * The live index is deleted before the rebuild, because its results would be wrong. PostgreSQL
   * answers searches until the new index is live.
   */
  deletesIndexFirst?: true
  /**
   * Set if the reason backs off (rebuild-backoff.ts): if a rebuild did not remove it, another one
   * will probably not help either, so it must wait. The log then says this, which is what to check.
   */
  checkIfRepeated?: string
}

const reasons = {
  index_missing: { text: 'The index does not exist' },
  contents_unknown: { text: 'It is not known what the index contains' },
  engine_restored: {
    text: 'The search engine was restored to an older state',
    deletesIndexFirst: true,
  },
  task_deleted: {
    text: 'The search engine has deleted the task that tells whether it was restored',
  },
  database_restored: {
    text: 'The index contains changes that this database does not have',
    deletesIndexFirst: true,
  },
  shape_changed: {
    text: 'This version has different index settings or builds documents differently',
    checkIfRepeated: 'Is an indexer of another version running for the same index?',
  },
  settings_changed: {
    text: 'The settings of the index were changed in the search engine',
    checkIfRepeated:
      'Does another program change them, or does Meilisearch return them in a different form?',
  },
  catalogue_emptied: { text: 'The table of products was truncated', deletesIndexFirst: true },
  rebuild_requested: { text: 'A rebuild was requested' },
  count_mismatch: {
    text: 'The number of documents differs from the number of products',
    checkIfRepeated:
      'Does another program write to the index? `scripts/indexer.ts verify` lists what differs.',
  },
} satisfies Record<string, ReasonRules>

export type ReasonName = keyof typeof reasons

export type RebuildReason = ReasonRules & { name: ReasonName }

/** Returns the reason with this name. Its text ends with the details. */
export function createReason(name: ReasonName, details?: string): RebuildReason {
  const rules: ReasonRules = reasons[name]
  return { ...rules, name, text: `${rules.text}${details === undefined ? '' : `: ${details}`}.` }
}

/**
 * Returns why the index must be rebuilt; null if it need not be. Does not check the number of
 * documents: see `findCountMismatch`.
 */
export async function findRebuildReason(target: LiveTarget): Promise<RebuildReason | null> {
  const { db, client, indexName, registrationName } = target
  const registration = await readRegistration(db, registrationName)
  if (!(await indexExists(client, indexName))) return createReason('index_missing')
  if (!registration || registration.indexedAt === null) return createReason('contents_unknown')
  const restored = await findRestored(registration, target)
  if (restored !== null) return createReason(restored)
  // Before the reasons that back off. While a truncation or a request is pending, IndexerRun.run
  // calls this again at once. If it returned a reason that must wait, that loop would not pause.
  if (registration.hasPendingTruncation) return createReason('catalogue_emptied')
  if (registration.rebuildRequestedAt !== null) return createReason('rebuild_requested')
  if (registration.shape !== computeIndexShape()) return createReason('shape_changed')
  const changedSettings = listChangedSettings(await client.index(indexName).getSettings())
  if (changedSettings.length === 0) return null
  return createReason('settings_changed', changedSettings.join(', '))
}

/**
 * Compares the tasks of the engine with the last task of the registration, and returns:
 *
 * - `database_restored`: another database wrote the index last. Or the engine has a newer upload,
 *   although nothing was being written. Only the indexer with the lease uploads documents, so the
 *   database has lost a commit of the registration.
 * - `engine_restored`: the engine does not know that task, or has given its number to another one.
 * - `task_deleted`: the engine has deleted that task, so nobody can tell. The index is rebuilt, and
 *   searches use it meanwhile.
 * - null: none of these.
 */
async function findRestored(
  { lastTask, mayHaveUnrecordedWrites, isOfThisDatabase }: Registration,
  { taskClient, indexName }: LiveTarget,
): Promise<'engine_restored' | 'task_deleted' | 'database_restored' | null> {
  if (!isOfThisDatabase) return 'database_restored'
  if (lastTask === null) return null
  const lookup = await lookUpTask(taskClient, lastTask)
  if (lookup === 'never_enqueued') return 'engine_restored'
  if (lookup === 'deleted') return 'task_deleted'
  if (mayHaveUnrecordedWrites) return null
  const newest = await readNewestTaskNumber(taskClient, indexName, uploadTypes)
  return newest !== null && newest > lastTask.taskNumber ? 'database_restored' : null
}

/**
 * Returns a reason if the number of documents differs from that of active products by more than the
 * parked documents. Returns null while changes are pending or being applied: they explain a
 * difference. So while changes arrive all the time, a wrong count is hardly ever found.
 */
export async function findCountMismatch({
  db,
  client,
  indexName,
  registrationName,
}: IndexAddress): Promise<RebuildReason | null> {
  const counted = await sql<{ productCount: number; parkedCount: number; hasPending: boolean }>`
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
  const { productCount, parkedCount, hasPending } = requireFirstRow(counted)
  const { numberOfDocuments, isIndexing } = await client.index(indexName).getStats()
  if (hasPending || isIndexing) return null
  if (numberOfDocuments <= productCount && numberOfDocuments >= productCount - parkedCount)
    return null
  const counts = [
    countNoun(numberOfDocuments, 'document'),
    countNoun(productCount, 'product'),
    `${parkedCount} parked`,
  ]
  return createReason('count_mismatch', counts.join(', '))
}
