// Work that the engine does in its own time: each request becomes a task in its queue. Here they are waited for, and taken back.
import { type EnqueuedTask, type Meilisearch, MeilisearchApiError } from 'meilisearch'
import { requireSuccess } from './document-upload.ts'

const taskWait = { timeout: 600_000, interval: 20 }

export class TaskFailed extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Waits until the task has succeeded and answers its number; throws TaskFailed. `observer` is a client that may see it. */
export async function done(
  observer: Meilisearch,
  enqueued: Promise<EnqueuedTask>,
): Promise<number> {
  const task = await observer.tasks.waitForTask(await enqueued, taskWait)
  if (task.error)
    throw new TaskFailed(task.error.code, `Meilisearch: task ${task.status}: ${task.error.message}`)
  requireSuccess(task)
  return task.uid
}

/**
 * Takes these tasks out of the queue, and one that the engine is working on out of its hands: it leaves that within a fraction of a second, and the
 * index is as it was before. Those that are over stay as they are. `observer` is a client that may see every task.
 */
export async function takeBack(
  engine: Meilisearch,
  observer: Meilisearch,
  tasks: number[],
): Promise<void> {
  if (tasks.length > 0) await done(observer, engine.tasks.cancelTasks({ uids: tasks }))
}

/** Removes an index, if it is there. */
export async function removeIndex(engine: Meilisearch, indexName: string): Promise<void> {
  try {
    await done(engine, engine.deleteIndex(indexName))
  } catch (error) {
    const isAbsent =
      error instanceof TaskFailed ? error.code === 'index_not_found' : isNotFound(error)
    if (!isAbsent) throw error
  }
}

/** Removes what is left of a rebuild that died, and what the engine had still to do for it: everything else would wait for that. */
export async function removeRemains(
  engine: Meilisearch,
  observer: Meilisearch,
  indexName: string,
): Promise<void> {
  await done(
    observer,
    engine.tasks.cancelTasks({ indexUids: [indexName], statuses: ['enqueued', 'processing'] }),
  )
  await removeIndex(engine, indexName)
}

const isNotFound = (error: unknown) =>
  error instanceof MeilisearchApiError && error.response.status === 404
