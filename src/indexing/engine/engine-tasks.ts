// Waits for and cancels tasks of the search engine, which runs every write as a queued task.
import { setTimeout as sleep } from 'node:timers/promises'
import { type EnqueuedTask, type Meilisearch, MeilisearchApiError, type Task } from 'meilisearch'
import { timeouts } from '../../timeouts.ts'

/** An accepted task failed, was cancelled or did not end in time. `code`: of Meilisearch, or ''. */
export class TaskFailed extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Waits until the task has ended and returns it. Throws if the timeout for a task has passed. The
 * wait function of the SDK is not used: if a request fails, it leaves a timer behind, which keeps
 * the process running.
 */
export async function waitForTask(
  { tasks }: Pick<Meilisearch, 'tasks'>,
  { taskUid }: Pick<EnqueuedTask, 'taskUid'>,
  pollMs: number = timeouts.indexing.taskPoll.ms,
): Promise<Task> {
  const { ms } = timeouts.indexing.task
  const deadline = performance.now() + ms
  for (;;) {
    const task = await tasks.getTask(taskUid)
    if (task.status !== 'enqueued' && task.status !== 'processing') return task
    if (performance.now() > deadline)
      throw new TaskFailed('', `Meilisearch: task ${taskUid} has not ended after ${ms / 1_000} s`)
    await sleep(pollMs)
  }
}

/**
 * Waits until the task has succeeded and returns its number. Throws TaskFailed. `taskClient` must
 * have a key that may read the task.
 */
export async function waitForSuccess(
  taskClient: Meilisearch,
  enqueued: Promise<EnqueuedTask>,
): Promise<number> {
  const task = await waitForTask(taskClient, await enqueued)
  requireTaskSuccess(task)
  return task.uid
}

/** Throws TaskFailed if an accepted task failed or was cancelled. */
export function requireTaskSuccess({ status, error }: Pick<Task, 'status' | 'error'>): void {
  if (status === 'succeeded') return
  const reason = error?.message ?? 'no reason given'
  throw new TaskFailed(error?.code ?? '', `Meilisearch: task ${status}: ${reason}`)
}

/**
 * Cancels these tasks, including one that is being processed: the engine stops it within a
 * fraction of a second and leaves the index unchanged. Finished tasks stay as they are.
 * `taskClient` must have a key that may read every task.
 */
export async function cancelTasks(
  engine: Meilisearch,
  taskClient: Meilisearch,
  tasks: number[],
): Promise<void> {
  if (tasks.length === 0) return
  await waitForSuccess(taskClient, engine.tasks.cancelTasks({ uids: tasks }))
}

/** Whether the index exists. Throws if the engine does not answer. */
export async function indexExists(engine: Meilisearch, indexName: string): Promise<boolean> {
  try {
    await engine.getRawIndex(indexName)
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

/** Deletes an index if it exists. */
export async function deleteIndex(engine: Meilisearch, indexName: string): Promise<void> {
  try {
    await waitForSuccess(engine, engine.deleteIndex(indexName))
  } catch (error) {
    const isAbsent =
      error instanceof TaskFailed ? error.code === 'index_not_found' : isNotFound(error)
    if (!isAbsent) throw error
  }
}

/**
 * Deletes the index of an interrupted rebuild and cancels its tasks, which would delay every
 * other task. `taskClient` must have a key that may read every task.
 */
export async function deleteRebuildLeftovers(
  engine: Meilisearch,
  taskClient: Meilisearch,
  indexName: string,
): Promise<void> {
  const cancellation = engine.tasks.cancelTasks({
    indexUids: [indexName],
    statuses: ['enqueued', 'processing'],
  })
  await waitForSuccess(taskClient, cancellation)
  await deleteIndex(engine, indexName)
}

const isNotFound = (error: unknown) =>
  error instanceof MeilisearchApiError && error.response.status === 404
