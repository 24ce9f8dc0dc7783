// Repeats a task of the indexer regularly, and logs and reports its failures.
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from './describe-error.ts'
import type { LogLine } from './log/program-log.ts'

export type RegularTaskOptions = {
  signal: AbortSignal
  log: LogLine
  onResult?: (succeeded: boolean) => void
}

type Repetition = RegularTaskOptions & {
  intervalMs: number
  /** What the log says if the task fails, up to the cause. */
  failure: string
}

/**
 * Runs the task at once and then after each interval. Resolves after `signal` is aborted, when the
 * running task has ended. Never rejects.
 */
export async function repeatRegularly(
  task: () => Promise<unknown>,
  { intervalMs, failure, signal, log, onResult = () => undefined }: Repetition,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await task()
      onResult(true)
    } catch (error) {
      onResult(false)
      log(
        `${failure}; retrying in ${intervalMs / 60_000} minutes: ${describeError(error)}`,
        'error',
      )
    }
    // Rejects when the signal is aborted, which ends the loop.
    await sleep(intervalMs, undefined, { signal }).catch(() => undefined)
  }
}
