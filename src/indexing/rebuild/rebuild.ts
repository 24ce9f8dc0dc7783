// Builds a new index beside the live one and swaps them. Search and changes continue meanwhile.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Meilisearch } from 'meilisearch'
import type { LogLine } from '../../monitoring/log/program-log.ts'
import { timeouts } from '../../timeouts.ts'
import { hasPendingChanges, syncBatch } from '../change-sync.ts'
import { deleteDocuments, toDocumentLine, uploadLines } from '../documents/document-upload.ts'
import { nextIndexName } from '../engine/engine-keys.ts'
import {
  deleteIndex,
  deleteRebuildLeftovers,
  indexExists,
  readEngineTask,
  waitForSuccess,
} from '../engine/engine-tasks.ts'
import type { IndexAddress, LeasedTarget } from '../leased-target.ts'
import { OutboxProgress, recordWriting } from '../outbox-progress.ts'
import { indexSettings } from '../settings/index-settings.ts'
import {
  applySynonyms,
  haveWordsChanged,
  readEngineSynonyms,
  sendSynonyms,
} from '../settings/synonym-sync.ts'
import { CatalogueUpload } from './catalogue-upload.ts'
import { createSampleDocument } from './index-shape.ts'
import {
  deleteRebuildRecord,
  nextRegistrationName,
  recordRebuildEnd,
  recordRebuildStart,
} from './rebuild-record.ts'

type RebuildOptions = {
  /** A client that may create indexes and read every task. Default: the client of the target. */
  rebuildClient?: Meilisearch
  onProgress?: (productCount: number) => void
  log?: LogLine
  /** Called often. Throws to stop the rebuild. */
  throwIfStopped?: () => void
  /**
   * The largest number of changes applied to the new index at once. A change of the live index
   * waits for one such batch. Default: 5,000.
   */
  catchUpBatch?: number
}

const defaults = {
  onProgress: () => undefined,
  log: () => undefined,
  throwIfStopped: () => undefined,
  catchUpBatch: 5_000,
}

/**
 * Uploads the catalogue to a new index, swaps it with the live one, records up to which instant it
 * is complete, and returns the number of products read. Changes go into the live index as usual,
 * and into the new one before the swap. Parks rejected documents. On an error the live index is
 * unchanged.
 */
export async function rebuild(live: LeasedTarget, given: RebuildOptions = {}): Promise<number> {
  const options = { ...defaults, rebuildClient: live.client, ...given }
  const nextName = nextRegistrationName(live.registrationName)
  const next: LeasedTarget = {
    ...live,
    indexName: nextIndexName(live.indexName),
    registrationName: nextName,
    progress: new OutboxProgress(live.db, nextName),
  }
  try {
    return await replaceIndex(live, next, options)
  } catch (error) {
    // The first error is thrown. If this fails too, the next run of an indexer deletes the record.
    await deleteRebuildRecord(live).catch(() => undefined)
    throw error
  }
}

/**
 * In this order: (1) records the start, (2) uploads the catalogue to the new index, (3) applies the
 * remaining changes to it, (4) swaps the indexes, (5) records the end, (6) deletes the old index.
 *
 * After a crash before the swap, the live index stays live, and the next run of an indexer deletes
 * the new one. After a crash before the end is recorded, the new index is live with an
 * outdated record: `is_writing` is true, and what caused the rebuild may cause another one. After a
 * crash at the end, the next run deletes the old index.
 */
async function replaceIndex(
  live: LeasedTarget,
  next: LeasedTarget,
  options: Required<RebuildOptions>,
): Promise<number> {
  const { rebuildClient } = options
  const hasLiveIndex = await indexExists(live.client, live.indexName)
  const start = await recordRebuildStart(live, hasLiveIndex)
  const indexCreated = createEmptyIndex(next, rebuildClient, options.log)
  const productCount = await uploadCatalogue(live, next, { ...options, hasLiveIndex, indexCreated })
  const synonymsVersion = await indexCreated
  if (productCount === 0) await registerFields(next)
  await applyRemainingChanges(live, next, options)
  await recordWriting(live, { pending: 0 })
  const taskNumber = await swapIndexes(live, next, hasLiveIndex, rebuildClient)
  const task = await readEngineTask(rebuildClient, taskNumber)
  await recordRebuildEnd(live, { ...start, task, synonymsVersion })
  live.progress.markSwapped()
  await deleteIndex(next.client, next.indexName)
  return productCount
}

/**
 * Creates an index and returns the version of its synonyms. If the engine rejects the synonyms, the
 * index has none, which is better than no index.
 */
async function createEmptyIndex(
  { db, client, indexName }: IndexAddress,
  rebuildClient: Meilisearch,
  log: LogLine,
): Promise<string> {
  const { synonymsVersion, synonyms } = await readEngineSynonyms(db)
  await deleteRebuildLeftovers(client, rebuildClient, indexName)
  await waitForSuccess(rebuildClient, rebuildClient.createIndex(indexName, { primaryKey: 'id' }))
  await waitForSuccess(rebuildClient, client.index(indexName).updateSettings(indexSettings))
  await sendSynonyms({ client, indexName }, synonyms, { log, taskClient: rebuildClient })
  return synonymsVersion
}

type UploadOptions = Required<RebuildOptions> & {
  hasLiveIndex: boolean
  indexCreated: Promise<unknown>
}

/**
 * Uploads every product to the new index as soon as that is created. Meanwhile, changes go into the
 * live index, if there is one.
 */
async function uploadCatalogue(
  live: LeasedTarget,
  next: LeasedTarget,
  { rebuildClient, throwIfStopped, onProgress, log, hasLiveIndex, indexCreated }: UploadOptions,
): Promise<number> {
  const upload = new CatalogueUpload(next, {
    indexCreated,
    rebuildClient,
    throwIfStopped,
    onProgress,
  })
  try {
    while (hasLiveIndex && !upload.isFinished) {
      throwIfStopped()
      if (await haveWordsChanged(live)) await runBefore(upload, () => applySynonyms(live, log))
      if (await hasPendingChanges(live))
        await runBefore(upload, () => syncBatch(live, { alsoQueueFor: next.registrationName }))
      else await Promise.race([upload.finished, sleep(timeouts.indexing.rebuildPoll.ms)])
    }
  } catch (error) {
    upload.stop(error)
    // It rejects with the error that is thrown here.
    await upload.finished.catch(() => undefined)
    throw error
  }
  return upload.finished
}

/**
 * Changes the live index. Cancels queued uploads first if necessary, because the engine runs one
 * task at a time.
 */
async function runBefore(
  upload: CatalogueUpload,
  changeLiveIndex: () => Promise<unknown>,
): Promise<void> {
  await upload.yieldToChange()
  const change = changeLiveIndex()
  const yieldAgain = () => {
    // If the uploads cannot be cancelled, the change waits for them.
    upload.yieldToChange({ isUrgent: true }).catch(() => undefined)
  }
  const urgentTimer = setTimeout(yieldAgain, timeouts.indexing.changeDuringRebuild.ms)
  await change.finally(() => clearTimeout(urgentTimer))
}

/**
 * Adds and deletes a document with every field, because the engine rejects a search in a field that
 * no document ever had.
 */
async function registerFields({ client, indexName }: IndexAddress): Promise<void> {
  const document = createSampleDocument()
  await uploadLines(client.index(indexName), [toDocumentLine(document)])
  await deleteDocuments(client.index(indexName), [document.id])
}

/** After this many rounds the catch-up ends, even if changes arrive faster than it applies them. */
const maxCatchUpRounds = 100

/**
 * Applies the changes made during the upload to the new index. Between batches, the live index gets
 * newer changes. It gets none during the last batches, so that the new index misses nothing.
 */
async function applyRemainingChanges(
  live: LeasedTarget,
  next: LeasedTarget,
  { throwIfStopped, catchUpBatch }: Required<RebuildOptions>,
): Promise<void> {
  const fewChanges = catchUpBatch / 10
  for (let round = 1; round <= maxCatchUpRounds; round++) {
    const changeCount = await syncBatch(next, { limit: catchUpBatch })
    if (changeCount <= fewChanges) break
    throwIfStopped()
    await syncBatch(live, { alsoQueueFor: next.registrationName, limit: catchUpBatch })
  }
  while ((await syncBatch(next)) > 0) throwIfStopped()
}

/** Makes the new index the live one and returns the number of the task. */
async function swapIndexes(
  live: LeasedTarget,
  next: LeasedTarget,
  hasLiveIndex: boolean,
  rebuildClient: Meilisearch,
): Promise<number> {
  const swap = live.client.swapIndexes([
    { indexes: [next.indexName, live.indexName], rename: !hasLiveIndex },
  ])
  return waitForSuccess(rebuildClient, swap)
}
