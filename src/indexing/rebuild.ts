// Builds a new index beside the live one and swaps them. Search and changes continue meanwhile.
import { type Kysely, sql } from 'kysely'
import type { Index } from 'meilisearch'
import type { Tables } from '../database/table-types.ts'
import type { LogLine } from '../monitoring/log/program-log.ts'
import { exampleRow } from '../products/fields.ts'
import { applyBatch, uploadSize } from './apply.ts'
import { type DocumentLine, readDocumentsAfter, toDocument, toDocumentLine } from './documents.ts'
import { deleteIndex, indexExists, readTask, unfinishedStatuses, waitForSuccess } from './engine.ts'
import { executeUnderLease, type LeasedTransaction, readLeaseLoss } from './lease.ts'
import { queueProducts } from './outbox.ts'
import {
  type IndexTarget,
  markRebuilt,
  markWriting,
  nextIndexName,
  readRegistration,
} from './registration.ts'
import { indexSettings } from './settings.ts'
import { applySynonyms, haveSynonymsChanged, readEngineSynonyms, sendSynonyms } from './synonyms.ts'
import { finishWrite, listIds, sendWrite, toUploads, WriteRejected } from './upload.ts'

/**
 * While one is being processed, the next one is read and sent, so the engine is never idle. A
 * change waits for both, about 4 s.
 */
const maxQueuedUploads = 2
/** Larger pages outlive the young generation of the garbage collector. */
const productsPerRead = 1_250

export type RebuildOptions = {
  onProgress: (productCount: number) => void
  log: LogLine
  /** Called often. Throws to stop the rebuild. */
  throwIfStopped: () => void
}

/**
 * Uploads the catalogue to a new index, swaps it with the live one, stores up to which instant it
 * is complete, and returns the number of products read. Between two uploads, changes go into both
 * indexes. Before the swap, an error leaves the live index in place, with
 * the changes applied meanwhile. If it is unknown what the live index contains, it gets no changes.
 *
 * After a crash before (3), the live index stays live, and the next run of an indexer deletes the
 * new one. After a crash before (4), the new index is live with an outdated registration: the state
 * is `writing`, and what caused the rebuild may cause another one. After a crash before (5), the
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
  // (1) Begin.
  const nextName = nextIndexName(indexName)
  const exists = await indexExists(client, indexName)
  const isUsed = exists && (await readRegistration(db, registrationName))?.state !== 'unknown'
  const startedAt = await executeUnderLease(db, lease, (transaction) =>
    beginRebuild(transaction, registrationName, isUsed),
  )
  const synonymsVersion = await createNextIndex(live, options.log)

  // (2) Upload the catalogue.
  const productCount = await uploadCatalogue(live, isUsed, options)

  // (3) Swap the indexes.
  await executeUnderLease(db, lease, markWriting(live))
  // Without a live index there is nothing to swap with.
  const swap = client.swapIndexes([{ indexes: [nextName, indexName], rename: !exists }])
  const task = await readTask(client, await waitForSuccess(client, swap))

  // (4) Mark the new index as the live one.
  await executeUnderLease(db, lease, async (transaction) => {
    // Those of the old index.
    await transaction
      .deleteFrom('index_parked_documents')
      .where('registration_name', '=', registrationName)
      .where('parked_at', '<', startedAt)
      .execute()
    await markRebuilt(transaction, registrationName, { startedAt, task, synonymsVersion })
  })

  // (5) Delete the old index, which has the other name now.
  await deleteIndex(client, nextName)
  return productCount
}

/** Deletes what an unfinished rebuild of this live index has left. Throws LeaseLost. */
export async function deleteUnfinishedRebuild(live: IndexTarget): Promise<void> {
  const { db, client, indexName, lease } = live
  // After another indexer has taken over, all this may belong to its rebuild.
  const loss = await readLeaseLoss(db, lease)
  if (loss) throw loss
  // Its tasks would delay every other task.
  const cancellation = client.tasks.cancelTasks({
    indexUids: [nextIndexName(indexName)],
    statuses: unfinishedStatuses,
  })
  await waitForSuccess(client, cancellation)
  await deleteIndex(client, nextIndexName(indexName))
}

/**
 * Returns when the rebuild begins, by the clock of the database. If the live index is not used, the
 * rebuild covers all pending changes, so they are deleted.
 */
async function beginRebuild(
  transaction: LeasedTransaction,
  registrationName: string,
  isUsed: boolean,
): Promise<Date> {
  if (!isUsed)
    await transaction
      .deleteFrom('index_outbox')
      .where('registration_name', '=', registrationName)
      .execute()
  const { startedAt } = await transaction
    .selectNoFrom(sql<Date>`now()`.as('startedAt'))
    .executeTakeFirstOrThrow()
  return startedAt
}

/**
 * Creates the empty next index and returns the version of its synonyms. If the engine rejects the
 * synonyms, the index has none, which is better than no index.
 */
async function createNextIndex(live: IndexTarget, log: LogLine): Promise<string> {
  const { db, client } = live
  const indexName = nextIndexName(live.indexName)
  const { synonymsVersion, synonyms } = await readEngineSynonyms(db)
  await deleteIndex(client, indexName)
  await waitForSuccess(client, client.createIndex(indexName, { primaryKey: 'id' }))
  await waitForSuccess(client, client.index(indexName).updateSettings(indexSettings))
  await sendSynonyms({ ...live, indexName }, synonyms, log)
  return synonymsVersion
}

/**
 * Uploads every active product to the next index. Returns their number. If the engine rejects an
 * upload, queues its products as changes: the batch with them parks the documents at fault.
 *
 * Between two uploads, applies a batch of changes, to the live index too if it is used. The next
 * upload is not older than these changes.
 */
async function uploadCatalogue(
  live: IndexTarget,
  isUsed: boolean,
  { throwIfStopped, onProgress, log }: RebuildOptions,
): Promise<number> {
  const { db, client, indexName, lease, registrationName } = live
  const nextName = nextIndexName(indexName)
  const index = client.index(nextName)
  const queued: { ids: string[]; taskNumber: number }[] = []
  let productCount = 0
  const finishFirst = async () => {
    const [first] = queued
    if (!first) return
    try {
      await finishWrite(index, first.taskNumber)
    } catch (error) {
      if (!(error instanceof WriteRejected)) throw error
      await queueProducts(db, registrationName, first.ids)
    }
    queued.shift()
    productCount += first.ids.length
    onProgress(productCount)
  }
  const applyChanges = async () => {
    if (isUsed && (await haveSynonymsChanged(live))) await applySynonyms(live, log)
    return applyBatch(live, { log, indexNames: isUsed ? [nextName, indexName] : [nextName] })
  }
  let lines = await readPage(db, '0')
  for (let last = lines.at(-1); last; last = lines.at(-1)) {
    for (const upload of toUploads(lines)) {
      while (queued.length >= maxQueuedUploads) await finishFirst()
      throwIfStopped()
      const ids = listIds(upload)
      for (const id of ids) lease.sentIds.add(id)
      try {
        queued.push({ ids, taskNumber: await sendWrite(index, upload) })
      } catch (error) {
        if (!(error instanceof WriteRejected)) throw error
        productCount += ids.length
        await queueProducts(db, registrationName, ids)
      }
    }
    // Read while the engine works, and again if changes were applied since.
    lines = await readPage(db, last.id)
    while (queued.length >= maxQueuedUploads) await finishFirst()
    const { changeCount } = await applyChanges()
    if (changeCount > 0) lines = await readPage(db, last.id)
  }
  while (queued.length > 0) {
    await finishFirst()
    await applyChanges()
  }
  if (productCount === 0) await addAndDeleteDocument(index)
  return productCount
}

/** Reads the products of one upload. */
async function readPage(db: Kysely<Tables>, afterId: string): Promise<DocumentLine[]> {
  const lines: DocumentLine[] = []
  while (lines.length < uploadSize.documents) {
    const lastId = lines.at(-1)?.id ?? afterId
    const limit = Math.min(productsPerRead, uploadSize.documents - lines.length)
    const documents = await readDocumentsAfter(db, lastId, limit)
    if (documents.length === 0) break
    for (const document of documents) lines.push(toDocumentLine(document))
  }
  return lines
}

/** The engine rejects a search in a field that no document ever had. */
async function addAndDeleteDocument(index: Index): Promise<void> {
  const document = toDocument({ ...exampleRow, popularity: 1, quotedRank: 1 })
  for (const write of [{ lines: [toDocumentLine(document)] }, { ids: [document.id] }])
    await finishWrite(index, await sendWrite(index, write))
}
