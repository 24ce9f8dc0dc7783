// Writes documents to an index in requests of limited size, and finds those that the engine
// rejects.
import type { EnqueuedTask, Index } from 'meilisearch'
import type { DocumentLine } from './documents.ts'
import {
  describeErrorWithAdvice,
  isRequestRejected,
  isTooLarge,
  onOwnConnection,
  requireTaskSuccess,
  waitForTask,
} from './engine.ts'

/** Meilisearch accepts 100 MB by default. 16 MB are large enough for speed and use less memory. */
const maxUploadBytes = 16_000_000

/** If the engine fails at so many documents and accepts none, it is at fault, not the documents. */
const minRejectedByFaultyEngine = 20

/** Documents to add or replace, or the ids of those to delete. */
export type Write = { lines: DocumentLine[] } | { ids: string[] }

/** Why the engine rejected the document with this id. */
export type Rejection = { id: string; reason: string }

/** `taskNumber` is that of the last task, even if it failed; null if there was none. */
export type WriteResult = { rejected: Rejection[]; taskNumber: number | null }

/** The engine rejected a write because of its contents, or failed at it with an internal error. */
export class WriteRejected extends Error {
  readonly isInternal: boolean
  constructor(reason: string, isInternal: boolean) {
    super(`Meilisearch: ${reason}`)
    this.isInternal = isInternal
  }
}

/** Splits the lines into writes of at most 16 MB. A longer line is a write by itself. */
export function toUploads(lines: DocumentLine[]): { lines: DocumentLine[] }[] {
  const uploads: { lines: DocumentLine[] }[] = []
  // Full, so that the first line begins an upload.
  let bytes = maxUploadBytes
  for (const line of lines) {
    const lineBytes = Buffer.byteLength(line.text)
    if (bytes + lineBytes > maxUploadBytes) {
      uploads.push({ lines: [] })
      bytes = 0
    }
    uploads.at(-1)?.lines.push(line)
    bytes += lineBytes
  }
  return uploads
}

/** Returns the ids of the documents of a write. */
export const listIds = (write: Write): string[] =>
  'ids' in write ? write.ids : write.lines.map(({ id }) => id)

/** Sends a write and returns the number of its task. Throws WriteRejected. */
export async function sendWrite(index: Index, write: Write): Promise<number> {
  // An engine that has lost its data would create an index, with these documents and no others.
  await index.getRawInfo()
  const path = `indexes/${index.uid}/documents`
  const request =
    'ids' in write
      ? { path: `${path}/delete-batch`, body: write.ids }
      : {
          path,
          params: { primaryKey: 'id' },
          body: write.lines.map(({ text }) => text).join(''),
          contentType: 'application/x-ndjson',
        }
  try {
    const { taskUid } = await index.httpRequest.post<EnqueuedTask>({
      ...request,
      extraRequestInit: onOwnConnection,
    })
    return taskUid
  } catch (error) {
    if ('ids' in write ? !isTooLarge(error) : !isRequestRejected(error)) throw error
    throw new WriteRejected(describeErrorWithAdvice(error), false)
  }
}

/** Waits until the engine has applied the write. Throws WriteRejected and TaskFailed. */
export async function finishWrite(index: Index, taskNumber: number): Promise<void> {
  const task = await waitForTask(index, taskNumber)
  const { code = '', type = '', message = 'no reason given' } = task.error ?? {}
  const isInternal = code === 'internal'
  const isInvalid = type === 'invalid_request' && !code.startsWith('index_')
  if (task.status === 'failed' && (isInternal || isInvalid))
    throw new WriteRejected(message, isInternal)
  requireTaskSuccess(task)
}

/**
 * Bisects a write that the engine has rejected, until the documents at fault are found: those that
 * it rejects alone. The others are applied. Nothing else may be queued for the index, because the
 * engine runs queued writes together, and if it fails internally, all of them fail. Throws if the
 * cause is not a document: no response, an invalid key, a full disk, an engine that fails at all.
 */
export async function bisectWrite(index: Index, write: Write): Promise<WriteResult> {
  const rejected: Rejection[] = []
  let taskNumber: number | null = null
  let isAnyAccepted = false
  const parts = [write]
  for (let part = parts.pop(); part; part = parts.pop()) {
    const [id, ...otherIds] = listIds(part)
    try {
      taskNumber = await sendWrite(index, part)
      await finishWrite(index, taskNumber)
      isAnyAccepted = true
    } catch (error) {
      if (!(error instanceof WriteRejected)) throw error
      if (otherIds.length > 0) parts.push(...halve(part).toReversed())
      else if (id !== undefined) rejected.push({ id, reason: error.message })
      const isEngineFaulty = !isAnyAccepted && rejected.length >= minRejectedByFaultyEngine
      if (isEngineFaulty && error.isInternal) throw error
    }
  }
  return { rejected, taskNumber }
}

function halve(write: Write): [Write, Write] {
  const middle = Math.ceil(listIds(write).length / 2)
  return 'ids' in write
    ? [{ ids: write.ids.slice(0, middle) }, { ids: write.ids.slice(middle) }]
    : [{ lines: write.lines.slice(0, middle) }, { lines: write.lines.slice(middle) }]
}
