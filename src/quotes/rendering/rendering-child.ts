// Runs in a child process that renders: performs the tasks that rendering-process.ts sends.
import { type FailureReason, getRenderingFailureReason } from '../failures.ts'

export type Reply<Result> = { usage: Usage } & ({ result: Result } | Failed)
/** What the child process has used: processor time since its start, and memory now. */
export type Usage = { processorMs: number; residentBytes: number }
type Failed = { reason: FailureReason; message: string; stack: string | undefined }

/** Replies to each task with the result of `perform`. The process ends when the service ends. */
export function performTasks<Task, Result>(perform: (task: Task) => Result): void {
  process.on('message', (task) => {
    const outcome = getResultOrFailure(() => perform(task as Task))
    const { user, system } = process.cpuUsage()
    const usage = { processorMs: (user + system) / 1000, residentBytes: process.memoryUsage.rss() }
    const reply: Reply<Result> = { ...outcome, usage }
    process.send?.(reply)
  })
  // A terminal or service manager may signal all processes. This process ignores the signal,
  // because the stopping service still needs the results of its open requests. The service then
  // ends this process.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined)
}

function getResultOrFailure<Result>(perform: () => Result): { result: Result } | Failed {
  try {
    return { result: perform() }
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : new Error(String(error))
    return { reason: getRenderingFailureReason(error), message, stack }
  }
}
