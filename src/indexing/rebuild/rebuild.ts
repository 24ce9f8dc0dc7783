// Builds a new index beside the live one and swaps them. Search and changes continue meanwhile.
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../../monitoring/describe-error.ts'
import type { LogLine } from '../../monitoring/log/program-log.ts'
import { toSentence } from '../../text/to-sentence.ts'
import { applyBatch } from '../change-sync.ts'
import { writeAndDelete } from '../documents/document-upload.ts'
import { createFullDocument } from '../documents/sample-documents.ts'
import { deleteIndex, indexExists, readEngineTask, waitForSuccess } from '../engine/engine-tasks.ts'
import { type LiveTarget, type NextTarget, toNextTarget } from '../index-address.ts'
import { markWriting } from '../registration.ts'
import { indexSettings } from '../settings/index-settings.ts'
import {
  applySynonyms,
  haveSynonymsChangedInTables,
  readEngineSynonyms,
  sendSynonyms,
} from '../settings/synonym-sync.ts'
import { CatalogueUpload } from './catalogue-upload.ts'
import {
  beginRebuild,
  deleteNextIndex,
  deleteRebuildRows,
  finishRebuild,
} from './rebuild-start-and-end.ts'

// The same as without a rebuild.
const rebuildPollMs = 100
// A change should be searchable within 5 s. This leaves 2 s to apply it.
const changeDuringRebuildMs = 3_000

export type RebuildOptions = {
  onProgress: (productCount: number) => void
  log: LogLine
  /** Called often. Throws to stop the rebuild. */
  throwIfStopped: () => void
  /**
   * The largest number of changes applied to the new index at once. A change of the live index
   * waits for one such batch. Default: 5,000.
   */
  catchUpBatchSize?: number
  /**
   * After this many batches the catch-up ends, even if changes arrive faster than it applies them.
   * Default: 100.
   */
  maxCatchUpBatches?: number
}

/**
 * Uploads the catalogue to a new index, swaps it with the live one, stores up to which instant it
 * is complete, and returns the number of products read. Changes go into the live index as usual,
 * and into the new one before the swap. Parks rejected documents. Before the swap, an error leaves
 * the live index in place, with the changes applied meanwhile.
 */
export async function rebuild(live: LiveTarget, options: RebuildOptions): Promise<number> {
  const next = toNextTarget(live)
  try {
    return await buildAndSwap(live, next, options)
  } catch (error) {
    // The first error is thrown. If this fails too, most often for the same reason, nothing is lost
    // and no log is needed: the next run of an indexer deletes the rows.
    await deleteRebuildRows(live).catch(() => undefined)
    throw error
  }
}

/**
 * Builds the next index and swaps it with the live one. Returns the number of products read.
 *
 * After a crash before (4), the live index stays live, and the next run of an indexer deletes the
 * new one. After a crash before (5), the new index is live with an outdated registration:
 * `is_writing` is true, and what caused the rebuild may cause another one. After a crash before
 * (6), the next run deletes the old index.
 */
async function buildAndSwap(
  live: LiveTarget,
  next: NextTarget,
  options: RebuildOptions,
): Promise<number> {
  const hasLiveIndex = await indexExists(live.client, live.indexName)
  // (1) Begin.
  const start = await beginRebuild(live, hasLiveIndex)

  // (2) Upload the catalogue to the new index.
  const creation = createNextIndex(live, next, options.log)
  const upload = new CatalogueUpload(next, { ...options, indexCreated: creation })
  if (hasLiveIndex) await applyChangesDuring(upload, live, next, options)
  const productCount = await upload.finished
  const { synonymsVersion } = await creation
  // The engine rejects a search in a field that no document ever had.
  if (productCount === 0)
    await writeAndDelete(next.client.index(next.indexName), createFullDocument())

  // (3) Apply the remaining changes to it.
  await applyRemainingChanges(live, next, options)

  // (4) Swap the indexes.
  await markWriting(live)
  const swap = live.client.swapIndexes([
    // Without a live index there is nothing to swap with.
    { indexes: [next.indexName, live.indexName], rename: !hasLiveIndex },
  ])
  const taskNumber = await waitForSuccess(live.taskClient, swap)

  // (5) Mark the new index as the live one.
  const task = await readEngineTask(live.taskClient, taskNumber)
  await finishRebuild(live, { ...start, task, synonymsVersion })

  // (6) Delete the old index, which has the other name now.
  await deleteIndex(next.client, next.indexName)
  return productCount
}

/**
 * Creates the empty next index and returns the version of its synonyms. If the engine rejects the
 * synonyms, the index has none, which is better than no index.
 */
async function createNextIndex(
  live: LiveTarget,
  next: NextTarget,
  log: LogLine,
): Promise<{ synonymsVersion: string }> {
  const { db, client, taskClient, indexName } = next
  const { synonymsVersion, synonyms } = await readEngineSynonyms(db)
  await deleteNextIndex(live)
  await waitForSuccess(taskClient, taskClient.createIndex(indexName, { primaryKey: 'id' }))
  await waitForSuccess(taskClient, client.index(indexName).updateSettings(indexSettings))
  await sendSynonyms(next, synonyms, log)
  return { synonymsVersion }
}

/**
 * Applies changes to the live index until the upload has finished. If applying a change fails,
 * stops the upload.
 */
async function applyChangesDuring(
  upload: CatalogueUpload,
  live: LiveTarget,
  next: NextTarget,
  { throwIfStopped, log }: RebuildOptions,
): Promise<void> {
  try {
    while (!upload.isFinished) {
      throwIfStopped()
      if (await haveSynonymsChangedInTables(live))
        await changeLiveIndexDuring(upload, log, () => applySynonyms(live, log))
      if (await live.outbox.hasChanges())
        await changeLiveIndexDuring(upload, log, () =>
          applyBatch(live, { log, alsoQueueFor: next.outbox.name }),
        )
      else await Promise.race([upload.finished, sleep(rebuildPollMs)])
    }
  } catch (error) {
    upload.stop(error)
    // `upload.finished` rejects with the error that is thrown here.
    await upload.finished.catch(() => undefined)
    throw error
  }
}

/**
 * Changes the live index. Cancels queued uploads first if necessary, because the engine runs one
 * task at a time.
 */
async function changeLiveIndexDuring(
  upload: CatalogueUpload,
  log: LogLine,
  changeLiveIndex: () => Promise<unknown>,
): Promise<void> {
  await upload.yieldToChange()
  const change = changeLiveIndex()
  const yieldAgain = () => {
    upload.yieldToChange({ isUrgent: true }).catch((error: unknown) => {
      const reason = toSentence(describeError(error))
      log(`The uploads of the rebuild were not cancelled, so a change waits: ${reason}`, 'warn')
    })
  }
  const urgentTimer = setTimeout(yieldAgain, changeDuringRebuildMs)
  await change.finally(() => clearTimeout(urgentTimer))
}

/**
 * Applies the changes made during the upload to the new index. Between batches, the live index gets
 * newer changes. The live index gets none during the last batches, so that the new index misses
 * nothing.
 */
async function applyRemainingChanges(
  live: LiveTarget,
  next: NextTarget,
  { throwIfStopped, log, catchUpBatchSize = 5_000, maxCatchUpBatches = 100 }: RebuildOptions,
): Promise<void> {
  const fewChanges = catchUpBatchSize / 10
  for (let batch = 1; ; batch++) {
    const { changeCount } = await applyBatch(next, { log, limit: catchUpBatchSize })
    if (changeCount <= fewChanges) break
    if (batch >= maxCatchUpBatches) {
      log(
        'Changes arrive faster than the rebuild applies them to the new index. ' +
          'Further changes wait until the indexes are swapped.',
        'warn',
      )
      break
    }
    throwIfStopped()
    await applyBatch(live, { log, alsoQueueFor: next.outbox.name, limit: catchUpBatchSize })
  }
  while ((await applyBatch(next, { log })).changeCount > 0) throwIfStopped()
}
