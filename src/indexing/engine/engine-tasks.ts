// Reads and awaits tasks of the search engine, which runs every write as a queued task. Looks up
// and deletes indexes.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type EnqueuedTask,
  type Meilisearch,
  MeilisearchApiError,
  type Task,
  type TaskStatus,
  type TaskType,
} from 'meilisearch'

// A queue of the engine may take long, and the indexer waits without a limit.
export const queueReminder = { ms: 60_000 }
// A task can wait for an upload of a rebuild, which takes up to a minute.
export const taskTimeout = { ms: 600_000 }
// Such tasks are part of a rebuild, where no change waits for them.
export const taskPollMs = 20

/** The statuses of a task that has not ended. */
export const unfinishedStatuses: TaskStatus[] = ['enqueued', 'processing']

export const isUnfinished = ({ status }: Pick<Task, 'status'>) =>
  unfinishedStatuses.includes(status)

/** The message does not contain the number of the task, so that each attempt has the same one. */
export class TaskError extends Error {
  readonly taskNumber: number
  constructor(taskNumber: number, message: string) {
    super(`Meilisearch: ${message}`)
    this.taskNumber = taskNumber
  }
}

/** An accepted task failed or was cancelled. `code`: of Meilisearch, or ''. */
export class TaskFailed extends TaskError {
  readonly code: string
  constructor(taskNumber: number, code: string, message: string) {
    super(taskNumber, message)
    this.code = code
  }
}

/** An accepted task has not ended in time. The engine may still run it. */
export class TaskTimedOut extends TaskError {
  constructor(taskNumber: number, ms: number) {
    super(taskNumber, `a task has not ended after ${ms / 1_000} s`)
  }
}

/**
 * Waits until the task with this number has ended and returns it. Throws TaskTimedOut after
 * `timeoutMs`. The wait function of the SDK is not used: if a request fails, it leaves a timer
 * behind, which keeps the process running.
 */
export async function waitForTask(
  { tasks }: Pick<Meilisearch, 'tasks'>,
  taskNumber: number,
  pollMs: number = taskPollMs,
  timeoutMs: number = taskTimeout.ms,
): Promise<Task> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const task = await tasks.getTask(taskNumber)
    if (!isUnfinished(task)) return task
    if (performance.now() > deadline) throw new TaskTimedOut(taskNumber, timeoutMs)
    await sleep(pollMs)
  }
}

/**
 * Waits until the task has succeeded and returns its number. Throws TaskFailed or TaskTimedOut. The
 * key of the client must allow it to read the task.
 */
export async function waitForSuccess(
  client: Meilisearch,
  enqueued: Promise<EnqueuedTask>,
): Promise<number> {
  const { taskUid } = await enqueued
  const task = await waitForTask(client, taskUid)
  requireTaskSuccess(task)
  return task.uid
}

type AcceptedTask = Pick<Task, 'uid' | 'type' | 'indexUid' | 'status' | 'error'>

/** Throws TaskFailed if an accepted task failed or was cancelled. */
export function requireTaskSuccess({ uid, type, indexUid, status, error }: AcceptedTask): void {
  if (status === 'succeeded') return
  const what = indexUid ? `${type} of ${indexUid}` : type
  const reason = error?.message ?? 'no reason given'
  throw new TaskFailed(uid, error?.code ?? '', `${what} ${status}: ${reason}`)
}

/** A task of the engine, and when it was enqueued, by the clock of the engine. */
export type EngineTask = {
  taskNumber: number
  /** Null if the engine does not know the task. */
  enqueuedAt: string | null
}

export async function readEngineTask(client: Meilisearch, taskNumber: number): Promise<EngineTask> {
  const { results } = await client.tasks.getTasks({ from: taskNumber, limit: 1 })
  const [found] = results
  const isKnown = found?.uid === taskNumber
  return { taskNumber, enqueuedAt: isKnown ? new Date(found.enqueuedAt).toISOString() : null }
}

/**
 * Looks up a task of the registration in the engine, and returns:
 *
 * - `found`: the engine has it.
 * - `unknown`: the engine lacks it. The task was already deleted when it was stored, so its absence
 *   proves nothing.
 * - `deleted`: the engine lacks its number and has newer tasks. Finished tasks may be deleted.
 * - `never_enqueued`: the engine was restored to an older state. It has no task as new as this one,
 *   or has given its number to a different one.
 */
export async function lookUpTask(
  client: Meilisearch,
  task: EngineTask,
): Promise<'found' | 'unknown' | 'deleted' | 'never_enqueued'> {
  const { enqueuedAt } = await readEngineTask(client, task.taskNumber)
  if (enqueuedAt !== null) return enqueuedAt === task.enqueuedAt ? 'found' : 'never_enqueued'
  if (task.enqueuedAt === null) return 'unknown'
  const { results } = await client.tasks.getTasks({ limit: 1 })
  const [newest] = results
  return newest !== undefined && newest.uid > task.taskNumber ? 'deleted' : 'never_enqueued'
}

/** Only an indexer with the lease uploads. `verify --repair` has no lease and deletes documents. */
export const uploadTypes: TaskType[] = ['documentAdditionOrUpdate']
export const documentWriteTypes: TaskType[] = [...uploadTypes, 'documentDeletion']

/** Returns the number of the newest task of these types; null if there is none. */
export async function readNewestTaskNumber(
  client: Meilisearch,
  indexName: string,
  types: TaskType[],
): Promise<number | null> {
  const { results } = await client.tasks.getTasks({ indexUids: [indexName], types, limit: 1 })
  return results[0]?.uid ?? null
}

/** Returns the highest of these task numbers; null if there is none. */
export function maxTaskNumber(taskNumbers: (number | null)[]): number | null {
  const present = taskNumbers.filter((taskNumber) => taskNumber !== null)
  return present.length > 0 ? Math.max(...present) : null
}

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

/** Does nothing if the index does not exist. */
export async function deleteIndex(client: Meilisearch, indexName: string): Promise<void> {
  try {
    await waitForSuccess(client, client.deleteIndex(indexName))
  } catch (error) {
    const isAbsent =
      error instanceof TaskFailed ? error.code === 'index_not_found' : isNotFound(error)
    if (!isAbsent) throw error
  }
}

const isNotFound = (error: unknown) =>
  error instanceof MeilisearchApiError && error.response.status === 404
