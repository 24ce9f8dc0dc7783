// The Meilisearch client of the indexer and the scripts, its errors, and the tasks as which the
// engine runs every write. The API searches with a smaller client (search-engine/client.ts).
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type EnqueuedTask,
  Meilisearch,
  MeilisearchApiError,
  type Task,
  type TaskStatus,
} from 'meilisearch'
import { describeError } from '../monitoring/describe-error.ts'
import { toSentence } from '../text/to-sentence.ts'

// Detects a server that no longer responds. The largest upload takes far less.
export const indexingRequestTimeout = { ms: 300_000 }
// A task is part of the delay until a change is searchable.
const taskPollMs = 10
// A rebuild may keep the engine busy for minutes.
const slowTaskPollMs = 50

/**
 * Creates a Meilisearch client. It does not have to be closed. `timeoutMs` limits each request. The
 * SDK itself has no limit, so an indexer could wait for ever, and renew its lease meanwhile.
 */
export function openIndexingClient(
  url: string,
  apiKey: string,
  { timeoutMs = indexingRequestTimeout.ms }: { timeoutMs?: number } = {},
): Meilisearch {
  return new Meilisearch({ host: url, apiKey, timeout: timeoutMs })
}

/**
 * For requests with a large body: the connection is closed afterwards. An engine that rejects such
 * a request before it has read all of it, for example because its disk is full or the request is
 * too large, does not answer the next request on the same connection.
 */
export const onOwnConnection = { headers: { connection: 'close' } }

/** Whether the engine rejected a request because of its size. */
export function isTooLarge(error: unknown): boolean {
  if (!(error instanceof MeilisearchApiError)) return false
  // Meilisearch answers 413 to documents, and an internal error to everything else.
  return error.response.status === 413 || /is larger than allowed/.test(error.message)
}

/** Whether the engine rejected a request because of its contents or its size. */
export const isRequestRejected = (error: unknown) =>
  isTooLarge(error) || (error instanceof MeilisearchApiError && error.response.status === 400)

const isNotFound = (error: unknown) =>
  error instanceof MeilisearchApiError && error.response.status === 404

/** Returns the message of any error, and says what to do about a large request or unknown key. */
export function describeErrorWithAdvice(error: unknown): string {
  const message = describeError(error)
  if (isTooLarge(error))
    return `${toSentence(message)} Raise MEILI_HTTP_PAYLOAD_SIZE_LIMIT of Meilisearch`
  if (error instanceof MeilisearchApiError && error.cause?.code === 'invalid_api_key')
    return `${toSentence(message)} ${keyAdvice}`
  return message
}

const keyAdvice =
  'The search engine does not know the key in MEILI_INDEXER_KEY. ' +
  'scripts/migrate.ts creates the keys. After the engine lost its data, run it again with ' +
  'MEILI_URL and MEILI_MASTER_KEY (`docker compose run --rm migrate`). The indexer then builds ' +
  'the index'

/** The statuses of a task that has not ended. */
export const unfinishedStatuses: TaskStatus[] = ['enqueued', 'processing']

/** An accepted task failed or was cancelled. `code`: of Meilisearch, or ''. */
export class TaskFailed extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(`Meilisearch: ${message}`)
    this.code = code
  }
}

/**
 * Waits until the task with this number has ended, and returns it. There is no limit: an accepted
 * task ends, but a rebuild of another index may come first. The wait function of the SDK is not
 * used: if a request fails, it leaves a timer behind, which keeps the process running.
 */
export async function waitForTask(
  { tasks }: Pick<Meilisearch, 'tasks'>,
  taskNumber: number,
): Promise<Task> {
  for (let polls = 1; ; polls++) {
    const task = await tasks.getTask(taskNumber)
    if (!unfinishedStatuses.includes(task.status)) return task
    await sleep(polls < 100 ? taskPollMs : slowTaskPollMs)
  }
}

/** Waits until the task has succeeded and returns its number. Throws TaskFailed. */
export async function waitForSuccess(
  client: Pick<Meilisearch, 'tasks'>,
  enqueued: Promise<EnqueuedTask>,
): Promise<number> {
  const { taskUid } = await enqueued
  const task = await waitForTask(client, taskUid)
  requireTaskSuccess(task)
  return task.uid
}

type EndedTask = Pick<Task, 'type' | 'indexUid' | 'status' | 'error'>

/** Throws TaskFailed if a task failed or was cancelled. */
export function requireTaskSuccess({ type, indexUid, status, error }: EndedTask): void {
  if (status === 'succeeded') return
  const what = indexUid ? `${type} of ${indexUid}` : type
  const reason = error?.message ?? 'no reason given'
  throw new TaskFailed(error?.code ?? '', `${what} ${status}: ${reason}`)
}

/** A task of the engine, and when it was enqueued, by the clock of the engine: RFC 3339. */
export type EngineTask = { taskNumber: number; enqueuedAt: string }

/** Returns the task with this number; null if the engine has none, or has deleted it. */
export async function readTask(
  client: Pick<Meilisearch, 'tasks'>,
  taskNumber: number,
): Promise<EngineTask | null> {
  const { results } = await client.tasks.getTasks({ from: taskNumber, limit: 1 })
  const [found] = results
  return found?.uid === taskNumber ? toEngineTask(found) : null
}

/** Returns the newest upload of documents to this index; null if there is none. */
export async function readNewestUpload(
  client: Pick<Meilisearch, 'tasks'>,
  indexName: string,
): Promise<EngineTask | null> {
  const { results } = await client.tasks.getTasks({
    indexUids: [indexName],
    types: ['documentAdditionOrUpdate'],
    limit: 1,
  })
  return results[0] ? toEngineTask(results[0]) : null
}

const toEngineTask = ({ uid, enqueuedAt }: Task): EngineTask => ({
  taskNumber: uid,
  enqueuedAt: new Date(enqueuedAt).toISOString(),
})

/** Whether the index exists. Throws if the engine does not answer. */
export async function indexExists(client: Meilisearch, indexName: string): Promise<boolean> {
  try {
    await client.getRawIndex(indexName)
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

/** Deletes an index. Does nothing if it does not exist. */
export async function deleteIndex(client: Meilisearch, indexName: string): Promise<void> {
  try {
    await waitForSuccess(client, client.deleteIndex(indexName))
  } catch (error) {
    const isAbsent =
      error instanceof TaskFailed ? error.code === 'index_not_found' : isNotFound(error)
    if (!isAbsent) throw error
  }
}
