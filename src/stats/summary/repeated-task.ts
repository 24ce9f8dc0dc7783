// Repeats a task in the background until it is stopped.
import { setTimeout as sleep } from 'node:timers/promises'

export type BackgroundTask = { stop(): Promise<void> }

type RepeatedTask = {
  /** The pause before the first run, and after a run that failed. */
  pauseMs: number
  /** Returns the pause before the next run in milliseconds. */
  run(): Promise<number>
  /** Called with the error of each run that failed. If it throws, the process ends. */
  reportFailure(error: unknown): void
}

/** Starts the task. `stop` waits for the current run. Pauses do not keep the process alive. */
export function repeatInBackground({ pauseMs, run, reportFailure }: RepeatedTask): BackgroundTask {
  const stopping = new AbortController()
  const { signal } = stopping

  async function repeat(): Promise<void> {
    let nextPauseMs = pauseMs
    for (;;) {
      // Rejects when the task is stopped.
      await sleep(nextPauseMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return
      nextPauseMs = await run().catch((error: unknown) => {
        reportFailure(error)
        return pauseMs
      })
    }
  }
  const finished = repeat()
  return {
    async stop() {
      stopping.abort()
      await finished
    },
  }
}
