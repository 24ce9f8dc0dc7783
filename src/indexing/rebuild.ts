// Builds a new index beside the live one and swaps them. Search and changes continue meanwhile.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { exampleRow } from '../products/fields.ts'
import { applyBatch, documentsPerUpload, logParked, parkDocuments } from './apply.ts'
import {
  type DocumentLine,
  readDocuments,
  readDocumentsAfter,
  toDocument,
  toDocumentLine,
} from './documents.ts'
import { deleteIndex, indexExists, readTask, unfinishedStatuses, waitForSuccess } from './engine.ts'
import { executeUnderLease, type LeasedTransaction } from './lease.ts'
import { deleteOutboxRows, hasPendingChanges, requeueAfterLeaseLoss } from './outbox.ts'
import {
  type IndexTarget,
  markRebuilt,
  markWriting,
  nextOutboxName,
  readRegistration,
  toNextTarget,
} from './registration.ts'
import { indexSettings } from './settings.ts'
import {
  applySynonyms,
  haveSynonymsChangedInTables,
  readEngineSynonyms,
  sendSynonyms,
} from './synonyms.ts'
import { bisectWrite, finishWrite, listIds, sendWrite, toUploads, WriteRejected } from './upload.ts'

// The same as without a rebuild.
const rebuildPollMs = 100
/**
 * One is being processed, and the next one waits, so the engine is never idle. A change waits for
 * both, about 4 s.
 */
const maxQueuedUploads = 2
/** Larger pages outlive the young generation of the garbage collector. */
const productsPerRead = 1_250
/**
 * A change of the live index waits for one such batch of changes of the next index. The catch-up
 * ends after so many batches, even if changes arrive faster than it applies them.
 */
export const catchUp = { batchRows: 5_000, maxBatches: 100 }

export type RebuildOptions = {
  onProgress: (productCount: number) => void
  log: LogLine
  /** Called often. Throws to stop the rebuild. */
  throwIfStopped: () => void
}

/**
 * Uploads the catalogue to a new index, swaps it with the live one, stores up to which instant it
 * is complete, and returns the number of products read. Changes go into the live index as usual,
 * and into the new one before the swap. Parks rejected documents. Before the swap, an error leaves
 * the live index in place, with the changes applied meanwhile. If it is unknown what the live index
 * contains, it gets no changes.
 *
 * After a crash before (4), the live index stays live, and the next run of an indexer deletes the
 * new one. After a crash before (5), the new index is live with an outdated registration: the state
 * is `writing`, and what caused the rebuild may cause another one. After a crash before (6), the
 * next run deletes the old index.
 */
export async function rebuild(live: IndexTarget, options: RebuildOptions): Promise<number> {
  try {
    return await buildAndSwap(live, options)
  } catch (error) {
    // The first error is thrown. If this fails too, most often for the same reason, nothing is lost
    // and no log is needed: the next run of an indexer repeats it.
    await deleteUnfinishedRebuild(live).catch(() => undefined)
    throw error
  }
}

async function buildAndSwap(live: IndexTarget, options: RebuildOptions): Promise<number> {
  const { db, client, indexName, lease, registrationName } = live
  const next = toNextTarget(live)
  // (1) Begin.
  const exists = await indexExists(client, indexName)
  const isUsed = exists && (await readRegistration(db, registrationName))?.state !== 'unknown'
  const start = await executeUnderLease(db, lease, (transaction) =>
    beginRebuild(transaction, registrationName, isUsed),
  )
  const synonymsVersion = await createNextIndex(next, options.log)

  // (2) Upload the catalogue to the new index.
  const productCount = await uploadWithChanges(live, next, isUsed, options)

  // (3) Apply the remaining changes to it.
  await applyRemainingChanges(live, next, isUsed, options)

  // (4) Swap the indexes.
  await executeUnderLease(db, lease, markWriting(live))
  // Without a live index there is nothing to swap with.
  const swap = client.swapIndexes([{ indexes: [next.indexName, indexName], rename: !exists }])
  const task = await readTask(client, await waitForSuccess(client, swap))

  // (5) Mark the new index as the live one.
  await executeUnderLease(db, lease, async (transaction) => {
    await deleteOutboxRows(transaction, registrationName, start.truncations)
    await moveParkedDocuments(transaction, next.outboxName, registrationName)
    await markRebuilt(transaction, registrationName, {
      startedAt: start.startedAt,
      task,
      synonymsVersion,
    })
  })

  // (6) Delete the old index, which has the other name now.
  await deleteIndex(client, next.indexName)
  return productCount
}

/** Deletes what an unfinished rebuild of this live index has left. Throws LeaseLost. */
export async function deleteUnfinishedRebuild(live: IndexTarget): Promise<void> {
  const { client, indexName } = toNextTarget(live)
  // First, because after another indexer has taken over, all this may belong to its rebuild.
  await executeUnderLease(live.db, live.lease, (transaction) =>
    deleteNextRows(transaction, live.registrationName),
  )
  // Its tasks would delay every other task.
  const cancellation = client.tasks.cancelTasks({
    indexUids: [indexName],
    statuses: unfinishedStatuses,
  })
  await waitForSuccess(client, cancellation)
  await deleteIndex(client, indexName)
}

async function deleteNextRows(
  transaction: LeasedTransaction,
  registrationName: string,
): Promise<void> {
  const nextName = nextOutboxName(registrationName)
  for (const table of ['index_outbox', 'index_parked_documents'] as const)
    await transaction.deleteFrom(table).where('registration_name', '=', nextName).execute()
}

/**
 * Deletes the rows of an unfinished rebuild. If the live index is not used, the rebuild covers all
 * pending rows, and they are deleted too. Returns the rows of truncations, which it also covers.
 */
async function beginRebuild(
  transaction: LeasedTransaction,
  registrationName: string,
  isUsed: boolean,
) {
  await deleteNextRows(transaction, registrationName)
  if (!isUsed)
    await transaction
      .deleteFrom('index_outbox')
      .where('registration_name', '=', registrationName)
      .execute()
  const truncations = await transaction
    .selectFrom('index_outbox')
    .select(['id', sql.lit(null).as('productId')])
    .where('registration_name', '=', registrationName)
    .where('product_id', 'is', null)
    .execute()
  const { startedAt } = await transaction
    .selectNoFrom(sql<Date>`now()`.as('startedAt'))
    .executeTakeFirstOrThrow()
  return { startedAt, truncations }
}

async function moveParkedDocuments(
  transaction: LeasedTransaction,
  from: string,
  to: string,
): Promise<void> {
  await transaction
    .deleteFrom('index_parked_documents')
    .where('registration_name', '=', to)
    .execute()
  await transaction
    .updateTable('index_parked_documents')
    .set({ registration_name: to })
    .where('registration_name', '=', from)
    .execute()
}

/**
 * Creates the empty next index and returns the version of its synonyms. If the engine rejects the
 * synonyms, the index has none, which is better than no index.
 */
async function createNextIndex(next: IndexTarget, log: LogLine): Promise<string> {
  const { db, client, indexName } = next
  const { synonymsVersion, synonyms } = await readEngineSynonyms(db)
  await deleteIndex(client, indexName)
  await waitForSuccess(client, client.createIndex(indexName, { primaryKey: 'id' }))
  await waitForSuccess(client, client.index(indexName).updateSettings(indexSettings))
  await sendSynonyms(next, synonyms, log)
  return synonymsVersion
}

/**
 * Uploads the catalogue to the next index, and applies changes to the live index meanwhile. Returns
 * the number of products. If one of the two fails, the other one is stopped.
 */
async function uploadWithChanges(
  live: IndexTarget,
  next: IndexTarget,
  isUsed: boolean,
  options: RebuildOptions,
): Promise<number> {
  let hasEnded = false
  const throwIfEnded = () => {
    options.throwIfStopped()
    if (hasEnded) throw new Error('The changes of the live index could not be applied')
  }
  const upload = uploadCatalogue(next, { ...options, throwIfStopped: throwIfEnded })
  const changes = (async () => {
    while (isUsed && !hasEnded) {
      options.throwIfStopped()
      await applyChanges(live, next, options)
      if (!(await hasPendingChanges(live.db, live.outboxName))) await sleep(rebuildPollMs)
    }
  })()
  const end = () => {
    hasEnded = true
  }
  const [changed, uploaded] = await Promise.allSettled([
    changes.catch((error: unknown) => {
      end()
      throw error
    }),
    upload.finally(end),
  ])
  if (changed.status === 'rejected') throw changed.reason
  if (uploaded.status === 'rejected') throw uploaded.reason
  return uploaded.value
}

async function applyChanges(
  live: IndexTarget,
  next: IndexTarget,
  { log }: RebuildOptions,
): Promise<void> {
  if (await haveSynonymsChangedInTables(live)) await applySynonyms(live, log)
  if (await hasPendingChanges(live.db, live.outboxName))
    await applyBatch(live, { log, alsoQueueFor: next.outboxName })
}

/**
 * Uploads every active product to an index and parks rejected documents. Returns the number of
 * products. If the lease is lost, queues the products that it may have sent late for the live
 * index, and throws LeaseLost.
 */
async function uploadCatalogue(
  next: IndexTarget,
  { throwIfStopped, onProgress, log }: RebuildOptions,
): Promise<number> {
  const { db, client, indexName, lease, outboxName } = next
  const index = client.index(indexName)
  const queued: { ids: string[]; taskNumber: number }[] = []
  const rejectedIds: string[][] = []
  let sending: string[] = []
  let productCount = 0
  const finishFirst = async () => {
    const [first] = queued
    if (!first) return
    try {
      await finishWrite(index, first.taskNumber)
    } catch (error) {
      if (!(error instanceof WriteRejected)) throw error
      rejectedIds.push(first.ids)
    }
    queued.shift()
    productCount += first.ids.length
    onProgress(productCount)
  }
  try {
    for await (const lines of readPagesAhead(db)) {
      for (const upload of toUploads(lines)) {
        throwIfStopped()
        while (queued.length >= maxQueuedUploads) await finishFirst()
        sending = listIds(upload)
        try {
          queued.push({ ids: sending, taskNumber: await sendWrite(index, upload) })
        } catch (error) {
          if (!(error instanceof WriteRejected)) throw error
          rejectedIds.push(sending)
        }
        sending = []
      }
    }
    while (queued.length > 0) await finishFirst()
    // One after the other, while nothing else is queued for the index.
    for (const ids of rejectedIds) {
      throwIfStopped()
      const lines = (await readDocuments(db, ids)).map(toDocumentLine)
      const { rejected } = await bisectWrite(index, { lines })
      await executeUnderLease(db, lease, (transaction) =>
        parkDocuments(transaction, outboxName, ids, rejected),
      )
      logParked(rejected, log)
    }
    if (productCount === 0) await addAndDeleteDocument(next)
    return productCount
  } catch (error) {
    const sentIds = [...sending, ...queued.flatMap(({ ids }) => ids), ...rejectedIds.flat()]
    throw await requeueAfterLeaseLoss(db, lease, sentIds, error)
  }
}

/** Reads the catalogue in pages of one upload. The next page is read while this one is used. */
async function* readPagesAhead(db: Kysely<Tables>): AsyncGenerator<DocumentLine[], void> {
  const read = async (afterId: string) => {
    const lines: DocumentLine[] = []
    while (lines.length < documentsPerUpload) {
      const lastId = lines.at(-1)?.id ?? afterId
      const documents = await readDocumentsAfter(db, lastId, productsPerRead)
      if (documents.length === 0) break
      for (const document of documents) lines.push(toDocumentLine(document))
    }
    return lines
  }
  let lines = await read('0')
  for (let last = lines.at(-1); last; last = lines.at(-1)) {
    const nextLines = read(last.id)
    // It is awaited below.
    nextLines.catch(() => undefined)
    yield lines
    lines = await nextLines
  }
}

/** The engine rejects a search in a field that no document ever had. */
async function addAndDeleteDocument({ client, indexName }: IndexTarget): Promise<void> {
  const document = toDocument({ ...exampleRow, popularity: 1, quotedRank: 1 })
  const index = client.index(indexName)
  for (const write of [{ lines: [toDocumentLine(document)] }, { ids: [document.id] }])
    await finishWrite(index, await sendWrite(index, write))
}

/**
 * Applies the changes made during the upload to the new index. Between batches, the live index gets
 * newer changes. The live index gets none during the last batches, so that the new index misses
 * nothing.
 */
async function applyRemainingChanges(
  live: IndexTarget,
  next: IndexTarget,
  isUsed: boolean,
  { throwIfStopped, log }: RebuildOptions,
): Promise<void> {
  const limit = catchUp.batchRows
  for (let batch = 1; isUsed; batch++) {
    const { changeCount } = await applyBatch(next, { log, limit })
    if (changeCount <= limit / 10) break
    if (batch >= catchUp.maxBatches) {
      log(
        'Changes arrive faster than the rebuild applies them to the new index. ' +
          'Further changes wait until the indexes are swapped.',
        'warn',
      )
      break
    }
    throwIfStopped()
    await applyBatch(live, { log, alsoQueueFor: next.outboxName, limit })
  }
  while ((await applyBatch(next, { log })).changeCount > 0) throwIfStopped()
}
