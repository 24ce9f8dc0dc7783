// Uploads documents to an index in payloads of limited size and isolates rejected documents.
import { hash } from 'node:crypto'
import type { EnqueuedTask, Index, Task } from 'meilisearch'
import type { ProductDocument } from '../../search-engine/document-fields.ts'
import {
  maxTaskNumber,
  requireTaskSuccess,
  TaskFailed,
  waitForTask,
} from '../engine/engine-tasks.ts'
import {
  describeErrorWithAdvice,
  isRequestRejected,
  isTooLarge,
  onOwnConnection,
} from '../engine/request-rejection.ts'
import { createProbeDocument } from './sample-documents.ts'

// The interval is part of the delay until a change is searchable.
const uploadPollMs = 10

/** A document as one line of NDJSON. Its field `contentHash` is a hash of all other fields. */
export type DocumentLine = { id: string; text: string }

/** One request body: documents as NDJSON, and its length in UTF-8. */
export type Payload = { ids: string[]; ndjson: string; bytes: number }

/** Why the engine rejected the document with this id. */
export type Rejection = { id: string; reason: string }

/** `taskNumber` is the highest one of the upload; null if there was no task. */
export type UploadResult = { rejected: Rejection[]; taskNumber: number | null }

/** Meilisearch accepts 100 MB by default. 16 MB are large enough for speed and use less memory. */
export const maxPayloadBytes = 16_000_000

/** The engine rejected a payload because of its contents. */
export class PayloadRejected extends Error {
  /** Whether processing the payload failed with an internal error of the engine. */
  readonly isInternal: boolean
  /** The number of the failed task; null if the payload was rejected before a task existed. */
  readonly taskNumber: number | null

  constructor(reason: string, isInternal: boolean, taskNumber: number | null) {
    super(`Meilisearch: ${reason}`)
    this.isInternal = isInternal
    this.taskNumber = taskNumber
  }
}

/** Returns 132 bits of the SHA-1 of a document without its content hash, in 22 characters. */
export const hashDocument = (document: ProductDocument) => hashJson(JSON.stringify(document))

const hashJson = (json: string) => hash('sha1', json, 'base64url').slice(0, 22)

/** Returns the document with its content hash as one line. */
export function toDocumentLine(document: ProductDocument): DocumentLine {
  const json = JSON.stringify(document)
  return { id: document.id, text: `${json.slice(0, -1)},"contentHash":"${hashJson(json)}"}\n` }
}

/** Splits the lines into parts of at most 16 MB. A longer line is a part by itself. */
export function splitBySize(lines: DocumentLine[]): DocumentLine[][] {
  const parts: DocumentLine[][] = []
  // Full, so that the first line begins a part.
  let partBytes = maxPayloadBytes
  for (const line of lines) {
    const lineBytes = Buffer.byteLength(line.text)
    if (partBytes + lineBytes > maxPayloadBytes) {
      parts.push([])
      partBytes = 0
    }
    parts.at(-1)?.push(line)
    partBytes += lineBytes
  }
  return parts
}

/** Returns the lines as payloads of at most 16 MB, except for a longer line. */
export function toPayloads(lines: DocumentLine[]): Payload[] {
  return splitBySize(lines).map((part) => {
    const ndjson = joinLines(part)
    return { ids: part.map(({ id }) => id), ndjson, bytes: Buffer.byteLength(ndjson) }
  })
}

const joinLines = (lines: DocumentLine[]) => lines.map(({ text }) => text).join('')

/**
 * Uploads the documents and waits until the engine has applied them. If the engine rejects the
 * payload, bisects it to find the rejected documents; the others are applied. Throws if the cause
 * is not a document: no response, an invalid key, a missing index, a full disk.
 *
 * Nothing else may be queued for this index. The engine runs queued uploads together, and after an
 * internal error it fails all of them.
 */
export async function uploadAndBisect(index: Index, lines: DocumentLine[]): Promise<UploadResult> {
  if (lines.length === 0) return { rejected: [], taskNumber: null }
  try {
    return { rejected: [], taskNumber: await uploadAllOrNone(index, lines) }
  } catch (error) {
    if (!(error instanceof PayloadRejected)) throw error
    const [line] = lines
    const isSingle = line !== undefined && lines.length === 1
    const result = isSingle
      ? await confirmRejection(index, line, error)
      : await writeHalves(lines, (half) => uploadAndBisect(index, half))
    return { ...result, taskNumber: maxTaskNumber([error.taskNumber, result.taskNumber]) }
  }
}

/** Calls `write` with the first half and then with the second one. Returns both results as one. */
async function writeHalves<Item>(
  items: Item[],
  write: (half: Item[]) => Promise<UploadResult>,
): Promise<UploadResult> {
  const middle = Math.ceil(items.length / 2)
  const first = await write(items.slice(0, middle))
  const second = await write(items.slice(middle))
  return {
    rejected: [...first.rejected, ...second.rejected],
    taskNumber: maxTaskNumber([first.taskNumber, second.taskNumber]),
  }
}

/**
 * Decides about a document that was rejected by itself. After an internal error the engine may be
 * at fault. Therefore it must accept another document, and then fail again at this one. Throws if
 * it does not accept the other one.
 */
async function confirmRejection(
  index: Index,
  line: DocumentLine,
  { isInternal, message }: PayloadRejected,
): Promise<UploadResult> {
  if (!isInternal) return { rejected: [{ id: line.id, reason: message }], taskNumber: null }
  const taskNumber = await writeAndDelete(index, createProbeDocument())
  try {
    return { rejected: [], taskNumber: await uploadAllOrNone(index, [line]) }
  } catch (error) {
    if (!(error instanceof PayloadRejected)) throw error
    return {
      rejected: [{ id: line.id, reason: error.message }],
      taskNumber: maxTaskNumber([taskNumber, error.taskNumber]),
    }
  }
}

/**
 * Adds and deletes a document, and returns the number of the last task. If the process dies in
 * between, the document stays until the next indexer repeats the upload, because the outbox rows
 * stay too.
 */
export async function writeAndDelete(
  index: Index,
  document: ProductDocument,
): Promise<number | null> {
  await uploadAllOrNone(index, [toDocumentLine(document)])
  return deleteDocuments(index, [document.id])
}

/**
 * Uploads the documents in one payload, waits until it is applied, and returns the number of its
 * task. Throws PayloadRejected, and then none of them is applied.
 */
export async function uploadAllOrNone(index: Index, lines: DocumentLine[]): Promise<number> {
  const taskNumber = await enqueueUpload(index, joinLines(lines))
  const task = await waitForTask(index, taskNumber, uploadPollMs)
  requireUploadSuccess(task)
  return taskNumber
}

/**
 * Enqueues one payload of NDJSON and returns the number of its task. Throws PayloadRejected if the
 * engine does not accept the payload, for example because it is too large.
 */
export async function enqueueUpload(index: Index, ndjson: string): Promise<number> {
  try {
    const { taskUid } = await index.httpRequest.post<EnqueuedTask>({
      path: `indexes/${index.uid}/documents`,
      params: { primaryKey: 'id' },
      body: ndjson,
      contentType: 'application/x-ndjson',
      extraRequestInit: onOwnConnection,
    })
    return taskUid
  } catch (error) {
    if (!isRequestRejected(error)) throw error
    throw new PayloadRejected(describeErrorWithAdvice(error), false, null)
  }
}

/** Throws if a finished upload was not applied: PayloadRejected if its contents are the cause. */
export function requireUploadSuccess(task: Task): void {
  if (task.status === 'succeeded') return
  const { code = '', type = '', message = 'no reason given' } = task.error ?? {}
  const isInternal = code === 'internal'
  const isInvalid = type === 'invalid_request' && !code.startsWith('index_')
  if (task.status === 'failed' && (isInternal || isInvalid))
    throw new PayloadRejected(message, isInternal, task.uid)
  requireTaskSuccess(task)
}

/**
 * Deletes documents, waits until the engine has applied that, and returns the number of the last
 * task; null without ids.
 */
export async function deleteDocuments(index: Index, ids: string[]): Promise<number | null> {
  if (ids.length === 0) return null
  try {
    const { taskUid } = await index.httpRequest.post<EnqueuedTask>({
      path: `indexes/${index.uid}/documents/delete-batch`,
      body: ids,
      extraRequestInit: onOwnConnection,
    })
    const task = await waitForTask(index, taskUid, uploadPollMs)
    requireTaskSuccess(task)
    return task.uid
  } catch (error) {
    if (!isTooLarge(error) || ids.length === 1) throw error
    const middle = Math.ceil(ids.length / 2)
    await deleteDocuments(index, ids.slice(0, middle))
    return deleteDocuments(index, ids.slice(middle))
  }
}

/**
 * Deletes documents like `deleteDocuments`. If the engine fails internally, bisects the ids to find
 * those at which it fails, and returns them as rejected. Throws if it then accepts no document
 * either. As for an upload, nothing else may be queued for this index.
 */
export async function deleteAndBisect(index: Index, ids: string[]): Promise<UploadResult> {
  try {
    return { rejected: [], taskNumber: await deleteDocuments(index, ids) }
  } catch (error) {
    if (!isInternalFailure(error)) throw error
    const [id] = ids
    if (id === undefined || ids.length > 1)
      return writeHalves(ids, (half) => deleteAndBisect(index, half))
    const taskNumber = await writeAndDelete(index, createProbeDocument())
    try {
      return { rejected: [], taskNumber: await deleteDocuments(index, ids) }
    } catch (repeated) {
      if (!isInternalFailure(repeated)) throw repeated
      return {
        rejected: [{ id, reason: repeated.message }],
        taskNumber: maxTaskNumber([taskNumber, repeated.taskNumber]),
      }
    }
  }
}

/** Whether a task failed with an internal error of the engine. */
export const isInternalFailure = (error: unknown): error is TaskFailed =>
  error instanceof TaskFailed && error.code === 'internal'
