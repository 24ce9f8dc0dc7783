// Applies one batch of changed products from the outbox to the index.
import type { Kysely } from 'kysely'
import type { Index, Meilisearch } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import {
  type DocumentLine,
  deleteDocuments,
  splitIntoPayloads,
  toDocumentLine,
  type UploadResult,
  uploadLines,
} from './documents/document-upload.ts'
import { parkDocuments, unparkDocuments } from './documents/parked-documents.ts'
import { readDocuments } from './documents/product-to-document.ts'
import { type Lease, LeaseLost, requireLease } from './indexer-lease.ts'
import {
  deleteOutboxRows,
  type OutboxRead,
  type OutboxRow,
  queueProducts,
  requeueIfLeaseLost,
} from './outbox.ts'
import { OutboxProgress, readTaskTime, recordSettled, recordWriting } from './outbox-progress.ts'

const batchSize = 20_000
const readSize = 2_500
/** Each upload has a fixed cost in the engine: more than reading this many products costs. */
const uploadSize = 10_000

/** An index and the outbox with its changes. If `lease` is absent, no other indexer may run. */
export type SyncTarget = {
  db: Kysely<Tables>
  engine: Meilisearch
  indexName: string
  /**
   * The name of the index's row in search_engines, and the value of the column `engine` of its
   * outbox rows. It is the configured name of the engine with the shape of the index: two releases
   * that share an engine have one registration each (outbox.ts).
   */
  registrationName: string
  lease?: Lease | undefined
  /** Without it, each batch reads the outbox from its beginning. */
  progress?: OutboxProgress | undefined
}

export type BatchOptions = {
  /** Queues the same products for this registration too: a rebuild follows the live index. */
  alsoQueueFor?: string
  /** The largest number of outbox rows in the batch. Default: 20,000. */
  limit?: number
}

/**
 * Applies one batch of outbox rows to the index and returns their number. Delivery is at least
 * once and idempotent: rows are deleted after the engine has applied them, and only the rows that
 * were read, so a change that is committed meanwhile stays pending. Parks rejected documents.
 * Throws LeaseLost, after queueing the products again, if another indexer has taken over.
 */
export async function syncBatch(
  target: SyncTarget,
  { alsoQueueFor, limit = batchSize }: BatchOptions = {},
): Promise<number> {
  const { db, engine, indexName, registrationName, lease } = target
  const progress = target.progress ?? new OutboxProgress(db, registrationName)
  const read = await progress.outbox.read(limit)
  const changes = read.rows.filter(isProductChange)
  progress.wasTruncated = changes.length < read.rows.length
  if (changes.length === 0) {
    if (read.isComplete && (progress.isWriting || progress.isRecordDue()))
      await recordBatch(target, progress, { read, alsoQueueFor, productIds: [], rejected: [] })
    return 0
  }

  const productIds = [...new Set(changes.map(({ productId }) => productId))]
  try {
    await recordWriting(target, progress, read.rows.length)
    const { rejected, lastTask } = await applyChanges(db, engine.index(indexName), productIds)
    progress.lastTask = Math.max(progress.lastTask, lastTask)
    await recordBatch(target, progress, { read, alsoQueueFor, productIds, rejected })
  } catch (error) {
    if (lease && (await requeueIfLeaseLost(db, lease, productIds)))
      throw error instanceof LeaseLost ? error : new LeaseLost()
    throw error
  }
  return changes.length
}

/** Whether changes of products are pending for the index. */
export async function hasPendingChanges({
  db,
  registrationName,
  progress,
}: SyncTarget): Promise<boolean> {
  const { outbox } = progress ?? new OutboxProgress(db, registrationName)
  const { rows } = await outbox.read(2)
  return rows.some(isProductChange)
}

const isProductChange = (row: OutboxRow): row is { id: string; productId: string } =>
  row.productId !== null

/** Uploads these products as they are now. Deletes documents of deleted and inactive products. */
async function applyChanges(
  db: Kysely<Tables>,
  index: Index,
  productIds: string[],
): Promise<UploadResult> {
  const requests: Promise<UploadResult>[] = []
  const absentIds: string[] = []
  let lines: DocumentLine[] = []
  const upload = () => {
    for (const payload of splitIntoPayloads(lines)) {
      const request = uploadLines(index, payload)
      request.catch(() => undefined) // awaitAll() throws the error
      requests.push(request)
    }
    lines = []
  }
  for (let from = 0; from < productIds.length; from += readSize) {
    const ids = productIds.slice(from, from + readSize)
    const documents = await readDocuments(db, ids)
    const presentIds = new Set(documents.map(({ id }) => id))
    absentIds.push(...ids.filter((id) => !presentIds.has(id)))
    for (const document of documents) lines.push(toDocumentLine(document))
    if (lines.length >= uploadSize) upload()
  }
  upload()
  const deletion = deleteDocuments(index, absentIds)
  requests.push(deletion.then((lastTask) => ({ rejected: [], lastTask })))
  return awaitAll(requests)
}

/**
 * Waits for all requests, even if one fails, and then throws its error: the engine could still
 * apply a pending request after a later batch.
 */
async function awaitAll(requests: Promise<UploadResult>[]): Promise<UploadResult> {
  const outcomes = await Promise.allSettled(requests)
  const failure = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failure) throw failure.reason
  const results = outcomes.flatMap((outcome) =>
    outcome.status === 'fulfilled' ? [outcome.value] : [],
  )
  return {
    rejected: results.flatMap(({ rejected }) => rejected),
    lastTask: Math.max(...results.map(({ lastTask }) => lastTask)),
  }
}

type AppliedBatch = {
  read: OutboxRead
  productIds: string[]
  rejected: UploadResult['rejected']
  alsoQueueFor: string | undefined
}

/**
 * Deletes the processed outbox rows and parks rejected documents, only while the lease is held. If
 * nothing else is pending, records that the index is up to date.
 */
async function recordBatch(
  { db, engine, registrationName, lease }: SyncTarget,
  progress: OutboxProgress,
  { read, productIds, rejected, alsoQueueFor }: AppliedBatch,
): Promise<void> {
  const number = progress.lastTask
  const task =
    read.isComplete && number >= 0
      ? { number, acceptedAt: await readTaskTime(engine, number) }
      : null
  await db.transaction().execute(async (transaction) => {
    if (lease) await requireLease(transaction, lease)
    await deleteOutboxRows(transaction, registrationName, read.rows.filter(isProductChange))
    if (alsoQueueFor !== undefined) await queueProducts(transaction, alsoQueueFor, productIds)
    if (productIds.length > 0) await unparkDocuments(transaction, registrationName, productIds)
    await parkDocuments(transaction, registrationName, rejected)
    if (read.isComplete) await recordSettled(transaction, registrationName, read, task)
  })
  progress.markSettled(read)
}
