// Applies one batch of changed products from the outbox to the index.
import type { Kysely } from 'kysely'
import type { Index } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { ConcurrentWrites } from './documents/concurrent-writes.ts'
import {
  type DocumentLine,
  deleteAndBisect,
  deleteDocuments,
  splitBySize,
  toDocumentLine,
  type UploadResult,
  uploadAllOrNone,
  uploadAndBisect,
} from './documents/document-upload.ts'
import { logParked, parkDocuments, unparkDocuments } from './documents/parked-documents.ts'
import { readDocuments } from './documents/product-to-document.ts'
import { readEngineTask } from './engine/engine-tasks.ts'
import type { WriteTarget } from './index-address.ts'
import { executeUnderLease } from './lease/indexer-lease.ts'
import { requeueAfterLeaseLoss } from './lease/requeue-after-lease-loss.ts'
import { deleteOutboxRows, type OutboxRead, queueProducts } from './outbox.ts'
import { markSettled, markWriting, storeLastTask } from './registration.ts'

const maxBatchRows = 20_000
const productsPerRead = 2_500
/**
 * Each upload takes the engine a fixed time, longer than reading 10,000 products takes. So several
 * reads share one upload.
 */
const documentsPerUpload = 10_000

type BatchOptions = {
  log: LogLine
  /** Adds the same products to this outbox too: the next index follows the live one. */
  alsoQueueFor?: string
  /** The largest number of outbox rows in the batch. Default: 20,000. */
  limit?: number
}

export type BatchResult = Pick<OutboxRead, 'hasTruncation' | 'hasReachedEnd'> & {
  /** The number of outbox rows in the batch, without truncations. */
  changeCount: number
}

/**
 * Applies one batch of outbox rows to the index. Parks rejected documents. If no row is pending,
 * may mark a live index as settled.
 *
 * Rows are deleted after the engine has applied them. If the indexer dies before, they are applied
 * again, which does no harm. Only the rows that were read are deleted, so a change that is
 * committed meanwhile stays pending.
 *
 * If the lease is lost, queues the products again and throws LeaseLost, whose cause is the error
 * that ended the batch.
 */
export async function applyBatch(
  target: WriteTarget,
  { log, alsoQueueFor, limit = maxBatchRows }: BatchOptions,
): Promise<BatchResult> {
  const { db, client, indexName, lease, outbox } = target
  const read = await outbox.read(limit)
  const { changes, hasTruncation, hasReachedEnd } = read
  const result = { changeCount: changes.length, hasTruncation, hasReachedEnd }
  if (changes.length === 0) {
    await markSettledIfDue(target, read)
    return result
  }

  const productIds = [...new Set(changes.map(({ productId }) => productId))]
  try {
    if (target.kind === 'live') await markWriting(target)
    const uploaded = await applyChanges(db, client.index(indexName), productIds)
    await finishBatch(target, { read, productIds, alsoQueueFor, ...uploaded })
    logParked(uploaded.rejected, log)
  } catch (error) {
    throw await requeueAfterLeaseLoss(db, lease, productIds, error)
  }
  return result
}

/**
 * Ends the round if the read reached the end and the last mark is too old. Marks a live index as
 * settled again. Throws LeaseLost.
 */
async function markSettledIfDue(target: WriteTarget, read: OutboxRead): Promise<void> {
  const { db, lease, outbox } = target
  if (!read.hasReachedEnd || !outbox.isSettledMarkDue()) return
  await executeUnderLease(db, lease, async (transaction) => {
    if (target.kind === 'live') await markSettled(transaction, target.registrationName, read)
  })
  outbox.advancePast(read)
}

/** Uploads these products as they are now. Deletes documents of deleted and inactive products. */
async function applyChanges(
  db: Kysely<Tables>,
  index: Index,
  productIds: string[],
): Promise<UploadResult> {
  const writes = new ConcurrentWrites()
  const absentIds: string[] = []
  let lines: DocumentLine[] = []
  try {
    for (let from = 0; from < productIds.length; from += productsPerRead) {
      const ids = productIds.slice(from, from + productsPerRead)
      const documents = await readDocuments(db, ids)
      const presentIds = new Set(documents.map(({ id }) => id))
      absentIds.push(...ids.filter((id) => !presentIds.has(id)))
      for (const document of documents) lines.push(toDocumentLine(document))
      if (lines.length < documentsPerUpload) continue
      sendUploads(writes, index, lines)
      lines = []
    }
    sendUploads(writes, index, lines)
    writes.add(deleteDocuments(index, absentIds), () => deleteAndBisect(index, absentIds))
  } finally {
    // After an error, too, no request may be running: the engine could apply it after a later
    // batch, or after requeueAfterLeaseLoss has queued its products again.
    await writes.waitForAll()
  }
  return writes.finish()
}

/** Starts the upload of these documents, in one or more payloads. */
function sendUploads(writes: ConcurrentWrites, index: Index, lines: DocumentLine[]): void {
  for (const part of splitBySize(lines))
    writes.add(uploadAllOrNone(index, part), () => uploadAndBisect(index, part))
}

type AppliedBatch = UploadResult & {
  read: OutboxRead
  productIds: string[]
  alsoQueueFor?: string | undefined
}

/**
 * Deletes the processed outbox rows and parks rejected documents. For a live index, stores the task
 * in the registration, and marks it as settled if nothing else is pending. Throws LeaseLost.
 */
async function finishBatch(
  target: WriteTarget,
  { read, productIds, rejected, taskNumber, alsoQueueFor }: AppliedBatch,
): Promise<void> {
  const { db, client, lease, outbox } = target
  const live = target.kind === 'live' ? target : null
  const task = live && taskNumber !== null ? await readEngineTask(client, taskNumber) : null
  await executeUnderLease(db, lease, async (transaction) => {
    await deleteOutboxRows(transaction, outbox.name, read.changes)
    if (alsoQueueFor !== undefined) await queueProducts(transaction, alsoQueueFor, productIds)
    await unparkDocuments(transaction, outbox.name, productIds)
    await parkDocuments(transaction, outbox.name, rejected)
    if (!live) return
    if (task) await storeLastTask(transaction, live.registrationName, task)
    if (read.hasReachedEnd) await markSettled(transaction, live.registrationName, read)
  })
  outbox.advancePast(read)
}
