// Applies one batch of changed products from the outbox to the index.
import { type Kysely, sql } from 'kysely'
import type { Index } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { countNoun } from '../text/count-noun.ts'
import { type DocumentLine, readDocuments, toDocumentLine } from './documents.ts'
import { readTask } from './engine.ts'
import { executeUnderLease, type LeasedTransaction } from './lease.ts'
import { deleteOutboxRows, type OutboxRead, readOutbox } from './outbox.ts'
import { type IndexTarget, markSettled, markWriting, storeLastTask } from './registration.ts'
import {
  bisectWrite,
  finishWrite,
  type Rejection,
  sendWrite,
  toUploads,
  type Write,
  WriteRejected,
  type WriteResult,
} from './upload.ts'

const maxBatchRows = 20_000
const productsPerRead = 2_500
/**
 * Each upload takes the engine a fixed time, longer than reading 10,000 products takes. So several
 * reads share one upload.
 */
export const uploadSize = { documents: 10_000 }
// The lag of the next change is measured from the last mark, in seconds.
const settledMarkMs = 2_000

type BatchOptions = {
  log: LogLine
  /** The indexes to write to. Default: the live index. */
  indexNames?: string[]
}

export type BatchResult = Pick<
  OutboxRead,
  'hasTruncation' | 'isRebuildRequested' | 'hasReachedEnd'
> & {
  /** The number of outbox rows in the batch, without truncations. */
  changeCount: number
}

/**
 * Applies one batch of outbox rows to the index. Parks rejected documents. If no row is pending,
 * marks the index as settled.
 *
 * Rows are deleted after the engine has applied them. If the indexer dies before, they are applied
 * again, which does no harm. Only the rows that were read are deleted, so a change that is
 * committed meanwhile stays pending.. Throws LeaseLost.
 */
export async function applyBatch(
  target: IndexTarget,
  { log, indexNames = [target.indexName] }: BatchOptions,
): Promise<BatchResult> {
  const { db, client, lease, registrationName } = target
  const read = await readOutbox(db, registrationName, maxBatchRows)
  const { changes, hasReachedEnd } = read
  const result = { ...read, changeCount: changes.length }
  if (changes.length === 0) {
    await markSettledIfDue(target, read)
    return result
  }

  const productIds = [...new Set(changes.map(({ productId }) => productId))]
  await executeUnderLease(db, lease, markWriting(target))
  const indexes = indexNames.map((name) => client.index(name))
  for (const id of productIds) lease.sentIds.add(id)
  const { taskNumber, rejected } = await writeProducts(db, indexes, productIds)
  const task = taskNumber === null ? null : await readTask(client, taskNumber)
  await executeUnderLease(db, lease, async (transaction) => {
    await deleteOutboxRows(transaction, registrationName, changes)
    await parkDocuments(transaction, registrationName, productIds, rejected)
    if (task) await storeLastTask(transaction, registrationName, task)
    if (hasReachedEnd) await markSettled(transaction, registrationName, read)
  })
  settledAtMs.set(target, hasReachedEnd ? performance.now() : 0)
  logParked(rejected, log)
  return result
}

/** When each index was last marked as settled. Absent or 0: the next idle read marks it at once. */
const settledAtMs = new WeakMap<IndexTarget, number>()

/** While no change arrives, marks the index as settled every two seconds. Throws LeaseLost. */
async function markSettledIfDue(target: IndexTarget, read: OutboxRead): Promise<void> {
  const { db, lease, registrationName } = target
  const isDue = performance.now() - (settledAtMs.get(target) ?? 0) > settledMarkMs
  if (!read.hasReachedEnd || !isDue) return
  await executeUnderLease(db, lease, (transaction) =>
    markSettled(transaction, registrationName, read),
  )
  settledAtMs.set(target, performance.now())
}

/**
 * Uploads these products as they are now to each index. Deletes documents of deleted and inactive
 * products. The writes are sent one after the other, so after an error no request is running: the
 * engine could apply it after a later batch.
 */
async function writeProducts(
  db: Kysely<Tables>,
  indexes: Index[],
  productIds: string[],
): Promise<WriteResult> {
  const sent: { index: Index; write: Write; taskNumber: number }[] = []
  const rejectedWrites: { index: Index; write: Write }[] = []
  const send = async (write: Write) => {
    for (const index of indexes)
      try {
        sent.push({ index, write, taskNumber: await sendWrite(index, write) })
      } catch (error) {
        if (!(error instanceof WriteRejected)) throw error
        rejectedWrites.push({ index, write })
      }
  }
  const absentIds: string[] = []
  let lines: DocumentLine[] = []
  for (let from = 0; from < productIds.length; from += productsPerRead) {
    const ids = productIds.slice(from, from + productsPerRead)
    const documents = await readDocuments(db, ids)
    const presentIds = new Set(documents.map(({ id }) => id))
    absentIds.push(...ids.filter((id) => !presentIds.has(id)))
    for (const document of documents) lines.push(toDocumentLine(document))
    if (lines.length < uploadSize.documents && from + productsPerRead < productIds.length) continue
    for (const upload of toUploads(lines)) await send(upload)
    lines = []
  }
  if (absentIds.length > 0) await send({ ids: absentIds })

  for (const { index, write, taskNumber } of sent)
    try {
      await finishWrite(index, taskNumber)
    } catch (error) {
      if (!(error instanceof WriteRejected)) throw error
      rejectedWrites.push({ index, write })
    }
  let lastTask = sent.at(-1)?.taskNumber ?? null
  // Each index may reject the same document.
  const rejected = new Map<string, Rejection>()
  // One after the other, while nothing else is queued for the index.
  for (const { index, write } of rejectedWrites) {
    const result = await bisectWrite(index, write)
    for (const rejection of result.rejected) rejected.set(rejection.id, rejection)
    lastTask = result.taskNumber ?? lastTask
  }
  return { rejected: [...rejected.values()], taskNumber: lastTask }
}

/** Parks these rejected documents until their product changes, and no other of these products. */
async function parkDocuments(
  transaction: LeasedTransaction,
  registrationName: string,
  productIds: string[],
  rejections: Rejection[],
): Promise<void> {
  const ids = rejections.map(({ id }) => id)
  const reasons = rejections.map(({ reason }) => reason)
  await sql`
    delete from index_parked_documents
    where registration_name = ${registrationName} and product_id = any(${productIds}::bigint[])
  `.execute(transaction)
  if (ids.length === 0) return
  await sql`
    insert into index_parked_documents (registration_name, product_id, reason)
    select ${registrationName}, * from unnest(${ids}::bigint[], ${reasons}::text[])
  `.execute(transaction)
}

/** Logs how many documents were parked. Not why: a reason of the engine may quote a product. */
function logParked(rejections: Rejection[], log: LogLine): void {
  const [first] = rejections
  if (!first) return
  const documents = countNoun(rejections.length, 'document')
  log(
    `Parked ${documents} that the search engine rejected. The first is product ${first.id}. ` +
      '`scripts/indexer.ts status` says why.',
    'warn',
  )
}
