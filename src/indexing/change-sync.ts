// Applies one batch of changed products from the outbox to the index.
import type { Kysely } from 'kysely'
import type { Index } from 'meilisearch'
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
import { maxTaskNumber, readEngineTask } from './engine/engine-tasks.ts'
import { executeUnderLease, LeaseLost } from './indexer-lease.ts'
import type { LeasedTarget } from './leased-target.ts'
import { deleteOutboxRows, type OutboxRead, type OutboxRow, queueProducts } from './outbox.ts'
import { recordSettled, recordWriting } from './outbox-progress.ts'
import { requeueIfLeaseLost } from './requeue-after-lease-loss.ts'

const batchSize = 20_000
const readSize = 2_500
/** Each upload has a fixed cost in the engine: more than reading this many products costs. */
const uploadSize = 10_000

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
  target: LeasedTarget,
  { alsoQueueFor, limit = batchSize }: BatchOptions = {},
): Promise<number> {
  const { db, client, indexName, lease, progress } = target
  const read = await progress.outbox.read(limit)
  const changes = read.rows.filter(isProductChange)
  progress.noteTruncation(changes.length < read.rows.length)
  if (changes.length === 0) {
    if (read.isComplete && (progress.isWriting || progress.isRecordDue()))
      await recordBatch(target, { read, alsoQueueFor, productIds: [], rejected: [] })
    return 0
  }

  const productIds = [...new Set(changes.map(({ productId }) => productId))]
  try {
    await recordWriting(target, { pending: read.rows.length })
    const { rejected, taskNumber } = await applyChanges(db, client.index(indexName), productIds)
    progress.noteTask(taskNumber)
    await recordBatch(target, { read, alsoQueueFor, productIds, rejected })
  } catch (error) {
    if (await requeueIfLeaseLost(db, lease, productIds))
      throw error instanceof LeaseLost ? error : new LeaseLost()
    throw error
  }
  return changes.length
}

/** Whether changes of products are pending for the index. */
export async function hasPendingChanges({ progress }: LeasedTarget): Promise<boolean> {
  const { rows } = await progress.outbox.read(2)
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
      request.catch(() => undefined) // awaitAll() throws the error, unless reading fails first
      requests.push(request)
    }
    lines = []
  }
  try {
    for (let from = 0; from < productIds.length; from += readSize) {
      const ids = productIds.slice(from, from + readSize)
      const documents = await readDocuments(db, ids)
      const presentIds = new Set(documents.map(({ id }) => id))
      absentIds.push(...ids.filter((id) => !presentIds.has(id)))
      for (const document of documents) lines.push(toDocumentLine(document))
      if (lines.length >= uploadSize) upload()
    }
  } catch (error) {
    // A stopped indexer now releases its lease: none of its requests may run any longer.
    await Promise.allSettled(requests)
    throw error
  }
  upload()
  const deletion = deleteDocuments(index, absentIds)
  requests.push(deletion.then((taskNumber) => ({ rejected: [], taskNumber })))
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
    taskNumber: maxTaskNumber(results.map(({ taskNumber }) => taskNumber)),
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
  target: LeasedTarget,
  { read, productIds, rejected, alsoQueueFor }: AppliedBatch,
): Promise<void> {
  const { client, registrationName, progress } = target
  const { unrecordedTaskNumber } = progress
  const task =
    read.isComplete && unrecordedTaskNumber !== null
      ? await readEngineTask(client, unrecordedTaskNumber)
      : null
  await executeUnderLease(target, async (transaction) => {
    await deleteOutboxRows(transaction, registrationName, read.rows.filter(isProductChange))
    if (alsoQueueFor !== undefined) await queueProducts(transaction, alsoQueueFor, productIds)
    if (productIds.length > 0) await unparkDocuments(transaction, registrationName, productIds)
    await parkDocuments(transaction, registrationName, rejected)
    if (read.isComplete) await recordSettled(transaction, registrationName, read, task)
  })
  progress.markSettled(read)
}
