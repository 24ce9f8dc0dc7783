// Repeats a task in the background, and logs and reports its failures.
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from './describe-error.ts'
import type { LogLine } from './log/program-log.ts'

type Repetition = {
  /** The pause after each run. It does not keep the process alive. */
  pauseMs: number
  signal: AbortSignal
  /** Whether it pauses before the first run too. */
  pausesFirst?: boolean
  /** Called with the error of a run. Without it, the task itself reports its failures. */
  onFailure?: (error: unknown) => void
}

/**
 * Runs the task, and again after each pause, whether or not it failed. Resolves after `signal` is
 * aborted, when the current run has ended. Never rejects.
 */
export async function repeat(
  task: () => Promise<unknown>,
  { pauseMs, signal, pausesFirst = false, onFailure = () => undefined }: Repetition,
): Promise<void> {
  // Rejects when the signal is aborted, which ends the loop.
  const pause = () => sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined)
  if (pausesFirst) await pause()
  while (!signal.aborted) {
    await task().catch(onFailure)
    await pause()
  }
}

export type RegularTaskOptions = {
  signal: AbortSignal
  log: LogLine
  onResult?: (succeeded: boolean) => void
}

/** Repeats a task of the indexer. `failure` is what the log says if it fails, up to the cause. */
export function repeatRegularly(
  task: () => Promise<unknown>,
  {
    intervalMs,
    failure,
    signal,
    log,
    onResult = () => undefined,
  }: RegularTaskOptions & { intervalMs: number; failure: string },
): Promise<void> {
  const onFailure = (error: unknown) => {
    onResult(false)
    log(`${failure}; retrying in ${intervalMs / 60_000} minutes: ${describeError(error)}`, 'error')
  }
  return repeat(() => task().then(() => onResult(true)), { pauseMs: intervalMs, signal, onFailure })
}
