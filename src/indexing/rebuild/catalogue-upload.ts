// Uploads the whole catalogue to the new index of a rebuild.
//
// Meilisearch merges queued uploads, and large merged uploads are faster in a large index.
// Therefore many uploads are queued. They are cancelled when a change of the live index would wait
// for them.
//
// The products of an upload go through these states:
//
// read     -> sending    #send sends the upload.
// sending  -> accepted   The engine has queued the upload as a task.
// sending  -> rejected   The engine has refused the contents.
// accepted -> finished   The task has succeeded. The products are counted as progress.
// accepted -> rejected   The task has failed because of the contents.
// accepted -> read       #cancelAccepted has cancelled the task. The products are read again.
// rejected -> finished   #repeatRejected has uploaded them one more time. Those that are rejected
//                        again are parked.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Index, Task } from 'meilisearch'
import { FailureLog } from '../../monitoring/log/failure-log.ts'
import type { LogLine } from '../../monitoring/log/program-log.ts'
import { toSentence } from '../../text/to-sentence.ts'
import {
  enqueueUpload,
  type Payload,
  PayloadRejected,
  requireUploadSuccess,
  uploadAndBisect,
} from '../documents/document-upload.ts'
import { logParked, parkDocuments } from '../documents/parked-documents.ts'
import {
  isUnfinished,
  queueReminder,
  TaskTimedOut,
  waitForSuccess,
} from '../engine/engine-tasks.ts'
import type { NextTarget } from '../index-address.ts'
import { executeUnderLease } from '../lease/indexer-lease.ts'
import { requeueAfterLeaseLoss } from '../lease/requeue-after-lease-loss.ts'
import { preventUnhandledRejection } from '../scheduling/prevent-unhandled-rejection.ts'
import { CatalogueReader, readLines } from './catalogue-reader.ts'
import { type QueuedUploads, UploadPacing } from './upload-pacing.ts'

// A nearly empty queue must be refilled at once.
const minUploadCheckMs = 10
// A full queue keeps the engine busy for seconds.
const maxUploadCheckMs = 100

type CatalogueUploadOptions = {
  /** Resolves when the index exists. Products are read meanwhile. */
  indexCreated: Promise<unknown>
  /** Called often. Throws to stop the upload. */
  throwIfStopped: () => void
  /** Called with the number of products that have been processed. */
  onProgress: (productCount: number) => void
  log: LogLine
}

/** An upload that the engine has queued. */
type AcceptedUpload = {
  taskNumber: number
  /** See joinIds. */
  joinedIds: string
  documents: number
  bytes: number
  acceptedAtMs: number
}

/**
 * Uploads every active product to an index and parks rejected documents. The constructor starts the
 * upload. If the upload fails, it cancels its tasks, if the engine is reachable. If the lease is
 * lost, it also queues the products that it has sent, for the live index, and `finished` rejects
 * with LeaseLost.
 */
export class CatalogueUpload {
  /**
   * The number of products processed. Resolves when all uploads are finished. Some of these
   * products are not in the index: those that are parked, and perhaps some deleted ones.
   */
  readonly finished: Promise<number>
  readonly #target: NextTarget
  readonly #index: Index
  readonly #options: CatalogueUploadOptions
  readonly #pacing = new UploadPacing()
  readonly #catalogue: CatalogueReader
  readonly #stop = new AbortController()
  /**
   * Logs that the rebuild waits for a slow task of the engine, and that it goes on. A TaskTimedOut
   * is only the text to log: the wait has no limit.
   */
  readonly #slowTaskLog: FailureLog
  #accepted: AcceptedUpload[] = []
  /** The joined ids of the products of each rejected upload. */
  #rejected: string[] = []
  /**
   * The request that is being sent. `answered` never rejects. It resolves when `#accepted` contains
   * the upload, or when the request has failed.
   */
  #sending: { ids: string[]; answered: Promise<unknown> } | undefined
  #progressAtMs = Number.NEGATIVE_INFINITY
  #productCount = 0
  #isFinished = false

  constructor(target: NextTarget, options: CatalogueUploadOptions) {
    this.#target = target
    this.#options = options
    this.#index = target.client.index(target.indexName)
    this.#catalogue = new CatalogueReader(target.db, () => this.#pacing.chooseUploadSize())
    this.#slowTaskLog = new FailureLog(
      { error: options.log, info: options.log },
      {
        failure: (cause) => `${toSentence(cause)} The rebuild waits for it.`,
        recovery: 'The rebuild goes on.',
      },
    )
    this.finished = preventUnhandledRejection(
      this.#run()
        .catch((error: unknown) => this.#abandon(error))
        .finally(() => {
          this.#isFinished = true
        }),
    )
  }

  get isFinished(): boolean {
    return this.#isFinished
  }

  /**
   * Makes the engine available for a change of the live index: cancels the queued uploads, except
   * a small amount, and sends them again later. `isUrgent`: the change has waited too long already.
   */
  async yieldToChange({ isUrgent = false } = {}): Promise<void> {
    await this.#sending?.answered
    const decision = this.#pacing.handleChange(this.#queued(), { isUrgent })
    if (decision === 'cancel_queued') await this.#cancelAccepted()
  }

  /** Cancels the queued uploads. `finished` then rejects with `reason`. */
  stop(reason: unknown): void {
    this.#stop.abort(reason)
  }

  async #run(): Promise<number> {
    await this.#options.indexCreated
    for (;;) {
      this.#options.throwIfStopped()
      this.#stop.signal.throwIfAborted()
      await this.#processFinishedTasks()
      // After a rejection nothing more is sent until the queue is empty. Otherwise the repeated
      // upload would wait for the whole queue, and the engine would run it together with others.
      if (this.#rejected.length === 0 && this.#pacing.hasCapacity(this.#queued())) {
        const payload = await this.#catalogue.next()
        if (payload) {
          await this.#send(payload)
          continue
        }
      }
      if (this.#accepted.length > 0) await sleep(calculatePauseMs(this.#queued().documents))
      else if (this.#rejected.length > 0) await this.#repeatRejected()
      else return this.#productCount
    }
  }

  async #abandon(error: unknown): Promise<never> {
    await this.#catalogue.waitUntilIdle()
    // The tasks would delay the next attempt. If they cannot be cancelled, most often because the
    // engine is unreachable, no log is needed: `error` says so, and the next attempt cancels them.
    await this.#cancelAccepted().catch(() => undefined)
    const { db, lease } = this.#target
    const joinedIds = [...this.#accepted.map((upload) => upload.joinedIds), ...this.#rejected]
    const sentIds = [...(this.#sending?.ids ?? []), ...joinedIds.flatMap(splitIds)]
    throw await requeueAfterLeaseLoss(db, lease, sentIds, error)
  }

  async #send({ ids, ndjson, bytes }: Payload): Promise<void> {
    const acceptance = enqueueUpload(this.#index, ndjson).then((taskNumber) => {
      this.#accepted.push({
        taskNumber,
        joinedIds: joinIds(ids),
        documents: ids.length,
        bytes,
        acceptedAtMs: performance.now(),
      })
    })
    // `yieldToChange` only waits for the answer; an error is handled below.
    this.#sending = { ids, answered: acceptance.catch(() => undefined) }
    try {
      await acceptance
    } catch (error) {
      // `#sending` stays set: the engine may have these products, and #abandon() may queue them.
      if (!(error instanceof PayloadRejected)) throw error
      this.#rejected.push(joinIds(ids))
    }
    this.#sending = undefined
  }

  /** Uploads the products of the first rejected upload again, and parks rejected documents. */
  async #repeatRejected(): Promise<void> {
    const [joinedIds = ''] = this.#rejected
    const productIds = splitIds(joinedIds)
    const lines = await readLines(this.#target.db, productIds)
    const { rejected } = await uploadAndBisect(this.#index, lines)
    const { db, lease, outbox } = this.#target
    await executeUnderLease(db, lease, (transaction) =>
      parkDocuments(transaction, outbox.name, rejected),
    )
    logParked(rejected, this.#options.log)
    this.#rejected = this.#rejected.slice(1)
    this.#noteProgress(productIds.length)
  }

  /** Removes finished uploads, which the engine processes in order, and notes the throughput. */
  async #processFinishedTasks(): Promise<void> {
    const sinceMs = Math.max(this.#progressAtMs, this.#accepted[0]?.acceptedAtMs ?? 0)
    let finishedCount = 0
    for (let first = this.#accepted[0]; first; first = this.#accepted[0]) {
      const task = await this.#target.client.tasks.getTask(first.taskNumber)
      if (isUnfinished(task)) break
      if (task.status === 'canceled') this.#catalogue.readAgain(splitIds(first.joinedIds))
      else finishedCount += this.#processResult(task, first)
      this.#accepted = this.#accepted.slice(1)
    }
    if (finishedCount === 0) return this.#logIfWaiting(sinceMs)
    this.#slowTaskLog.logSuccess()
    this.#progressAtMs = performance.now()
    this.#pacing.noteThroughput(finishedCount, this.#progressAtMs - sinceMs)
    this.#noteProgress(finishedCount)
  }

  #noteProgress(productCount: number): void {
    this.#productCount += productCount
    this.#options.onProgress(this.#productCount)
  }

  #logIfWaiting(sinceMs: number): void {
    const [first] = this.#accepted
    const { ms } = queueReminder
    if (first && performance.now() - sinceMs >= ms)
      this.#slowTaskLog.logFailure(new TaskTimedOut(first.taskNumber, ms))
  }

  /** Returns how many products of a finished task the engine has indexed: all of them, or 0. */
  #processResult(task: Task, { joinedIds, documents }: AcceptedUpload): number {
    try {
      requireUploadSuccess(task)
      return documents
    } catch (error) {
      if (!(error instanceof PayloadRejected)) throw error
      this.#rejected.push(joinedIds)
      return 0
    }
  }

  #queued(): QueuedUploads {
    return {
      uploads: this.#accepted.length,
      documents: this.#accepted.reduce((sum, { documents }) => sum + documents, 0),
      bytes: this.#accepted.reduce((sum, { bytes }) => sum + bytes, 0),
    }
  }

  /**
   * Cancels the queued uploads, including one that is being processed: the engine stops it within a
   * fraction of a second and leaves the index unchanged. Finished tasks stay as they are.
   */
  async #cancelAccepted(): Promise<void> {
    if (this.#accepted.length === 0) return
    const { client, taskClient } = this.#target
    const uids = this.#accepted.map(({ taskNumber }) => taskNumber)
    await waitForSuccess(taskClient, client.tasks.cancelTasks({ uids }))
  }
}

/** Returns these ids in one string, which needs less memory than an array. */
const joinIds = (ids: string[]) => ids.join(' ')

const splitIds = (joinedIds: string) => joinedIds.split(' ')

/** A full queue is checked less often: the pause is one millisecond for 200 queued documents. */
function calculatePauseMs(queuedDocuments: number): number {
  return Math.min(maxUploadCheckMs, Math.max(minUploadCheckMs, queuedDocuments / 200))
}
