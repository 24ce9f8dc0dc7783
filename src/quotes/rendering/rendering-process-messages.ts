// The messages between the service and its rendering processes: a task, and one reply to it.
import type { ReplicaReadOutcome } from '../../database/replica/replica.ts'
import { type FailureReason, getFailureReason, QuoteFailure } from '../failures.ts'

export type Reply<Result> = {
  /** The memory that the process uses after the task. */
  residentBytes: number
  /** The outcome of reading from the replica, or null if the replica was not used. */
  replicaRead: ReplicaReadOutcome | null
} & ({ result: Result } | { reason: FailureReason; message: string })

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
    const failure = { reason: getFailureReason(error), message: describeCause(error) }
    return { ...failure, replicaRead, residentBytes: process.memoryUsage.rss() }
  }
}

/** Returns the message of the original error, because errors do not keep their cause in a reply. */
function describeCause(error: unknown): string {
  const cause = error instanceof QuoteFailure ? (error.cause ?? error) : error
  return cause instanceof Error ? cause.message : String(cause)
}
