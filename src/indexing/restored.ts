// Decides whether the index must be rebuilt, and why: above all whether the search engine or
// PostgreSQL was restored to an older state.
import { sql } from 'kysely'
import { countNoun } from '../text/count-noun.ts'
import { indexExists, readNewestUpload, readTask } from './engine.ts'
import {
  type IndexAddress,
  type IndexTarget,
  type Registration,
  readRegistration,
} from './registration.ts'

// The clocks of the engine and of PostgreSQL may differ.
const clockToleranceMs = 60_000

type ReasonRules = {
  /** Is logged. */
  text: string
  /** What is marked first. Without it, the index is used as before until the new one is live. */
  contents?: 'unknown' | 'suspect'
}

const reasons = {
  index_missing: { text: 'The index does not exist', contents: 'unknown' },
  contents_unknown: { text: 'It is not known what the index contains' },
  engine_restored: {
    text: 'The search engine was restored to an older state, or its tasks were deleted',
    contents: 'unknown',
  },
  database_restored: {
    text: 'The index contains changes that this database does not have',
    contents: 'unknown',
  },
  failed_over: {
    text: 'PostgreSQL has failed over, and the index may contain changes that were lost',
    contents: 'suspect',
  },
  catalogue_emptied: { text: 'The table of products was truncated', contents: 'unknown' },
  rebuild_requested: { text: 'A rebuild was requested' },
  count_mismatch: { text: 'The number of documents differs from the number of products' },
} satisfies Record<string, ReasonRules>

export type ReasonName = keyof typeof reasons
export type RebuildReason = ReasonRules & { name: ReasonName }

/** Returns the reason with this name. Its text ends with the details. */
function createReason(name: ReasonName, details?: string): RebuildReason {
  const rules: ReasonRules = reasons[name]
  return { ...rules, name, text: `${rules.text}${details === undefined ? '' : `: ${details}`}.` }
}

/**
 * What a check found: a reason to rebuild, a failover after which the index is in step, or null.
 */
export type Finding = RebuildReason | 'failed_over_without_loss' | null

/**
 * Returns why the index must be rebuilt; null if it need not be. Does not check the number of
 * documents: see `findCountMismatch`. `previousLeaseEnd` is set for the first check of a run.
 */
export async function checkIndex(
  target: IndexTarget,
  previousLeaseEnd: Date | null,
): Promise<Finding> {
  const { db, client, indexName, registrationName } = target
  const registration = await readRegistration(db, registrationName)
  if (!(await indexExists(client, indexName))) return createReason('index_missing')
  if (!registration || registration.state === 'unknown') return createReason('contents_unknown')
  const { isOfThisDatabase, hasFailedOver, state } = registration
  if (!isOfThisDatabase && !hasFailedOver) return createReason('database_restored')
  if (!(await isLastTaskKnown(target, registration))) return createReason('engine_restored')
  if (state === 'suspect') return createReason('failed_over')
  if (hasFailedOver) {
    const mayHaveLost = state === 'writing' || (await hasUnknownUpload(target, registration, null))
    return mayHaveLost ? createReason('failed_over') : 'failed_over_without_loss'
  }
  if (previousLeaseEnd && (await hasUnknownUpload(target, registration, previousLeaseEnd)))
    return createReason('database_restored')
  if (registration.hasPendingTruncation) return createReason('catalogue_emptied')
  return registration.rebuildRequestedAt === null ? null : createReason('rebuild_requested')
}

/** Whether the engine has the last task of the registration, and not another one as this number. */
async function isLastTaskKnown(
  { client }: IndexTarget,
  { lastTask }: Registration,
): Promise<boolean> {
  if (lastTask === null) return true
  return (await readTask(client, lastTask.taskNumber))?.enqueuedAt === lastTask.enqueuedAt
}

/**
 * Whether the engine has an upload that this database does not know. Only the indexer with the
 * lease uploads documents, so the database has lost a commit of the registration.
 *
 * If the indexer died while it was writing, its last upload is newer than the registration. Then
 * only an upload that was made after its lease had ended is a sign. Asked once in each run: later,
 * an indexer that was paused may upload what it has read before, and queues it again.
 */
async function hasUnknownUpload(
  { client, indexName }: IndexTarget,
  { lastTask, state }: Registration,
  previousLeaseEnd: Date | null,
): Promise<boolean> {
  const newest = await readNewestUpload(client, indexName)
  if (newest === null || newest.taskNumber <= (lastTask?.taskNumber ?? -1)) return false
  if (state !== 'writing' || previousLeaseEnd === null) return true
  return Date.parse(newest.enqueuedAt) > previousLeaseEnd.getTime() + clockToleranceMs
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
  if (!row || row.hasPending || isIndexing) return null
  const { productCount, parkedCount } = row
  if (numberOfDocuments <= productCount && numberOfDocuments >= productCount - parkedCount)
    return null
  const counts = [
    countNoun(numberOfDocuments, 'document'),
    countNoun(productCount, 'product'),
    `${parkedCount} parked`,
  ]
  return createReason('count_mismatch', counts.join(', '))
}
