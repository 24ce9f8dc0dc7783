// The messages between the service and its rendering processes: a task, and one reply to it.
import type { ReplicaReadOutcome } from '../../database/replica/replica.ts'
import { AlteredDocumentError, DocumentNotReadError } from '../document-errors.ts'
import { RenderingError } from './rendering-error.ts'

/** Why a task has no result. The service throws the same error as the process. */
type FailureCode = 'altered' | 'not-read' | 'refused' | 'failed'

export type Reply<Result> = {
  /** The memory that the process uses after the task. */
  residentBytes: number
  /** The outcome of reading from the replica, or null if the replica was not used. */
  replicaRead: ReplicaReadOutcome | null
} & ({ result: Result } | { failure: FailureCode; message: string })

/** Performs a task. Passes the outcome to `onReplicaRead` if it reads from the replica. */
type TaskHandler<Task, Result> = (
  task: Task,
  onReplicaRead: (outcome: ReplicaReadOutcome) => void,
) => Result | Promise<Result>

/** Runs in the child process: replies to each task. The process ends when the service ends. */
export function performTasks<Task, Result>(handle: TaskHandler<Task, Result>): void {
  process.on('message', async (task) => {
    process.send?.(await performTask(task as Task, handle))
  })
  // Without this, an open database connection would keep the process running.
  process.once('disconnect', () => process.exit())
  // A terminal or service manager may signal all processes. This process ignores the signal,
  // because the stopping service still needs the results of its open requests. It then ends this
  // process.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined)
}

async function performTask<Task, Result>(
  task: Task,
  handle: TaskHandler<Task, Result>,
): Promise<Reply<Result>> {
  let replicaRead: ReplicaReadOutcome | null = null
  const onReplicaRead = (outcome: ReplicaReadOutcome) => {
    replicaRead = outcome
  }
  try {
    const result = await handle(task, onReplicaRead)
    return { result, replicaRead, residentBytes: process.memoryUsage.rss() }
  } catch (error) {
    const failure = { failure: getFailureCode(error), message: describeCause(error) }
    return { ...failure, replicaRead, residentBytes: process.memoryUsage.rss() }
  }
}

function getFailureCode(error: unknown): FailureCode {
  if (error instanceof AlteredDocumentError) return 'altered'
  if (error instanceof DocumentNotReadError) return 'not-read'
  return error instanceof RenderingError && error.reason === 'refused' ? 'refused' : 'failed'
}

/** Returns the message of the original error, because errors do not keep their cause in a reply. */
function describeCause(error: unknown): string {
  const cause = error instanceof DocumentNotReadError ? (error.cause ?? error) : error
  return cause instanceof Error ? cause.message : String(cause)
}

/** Runs in the service: returns the error of a failed task. `what` is "PDF" or "page". */
export function toTaskError(failure: FailureCode, message: string, what: string): Error {
  switch (failure) {
    case 'altered':
      return new AlteredDocumentError(message)
    case 'not-read':
      return new DocumentNotReadError(message)
    case 'refused':
      return new RenderingError('refused', message)
    case 'failed':
      return new Error(`Rendering the ${what} failed: ${message}`)
  }
}
