// Repeats a task in the background until it is stopped.

export type BackgroundTask = { stop(): Promise<void> }

/**
 * Runs `task` after a first pause, and then repeatedly. `task` returns the pause before its next
 * run in milliseconds. It must catch, count and log its own failures, as startFolding and
 * startDriftCheck do: an error that it throws would end the process. `stop` waits for the running
 * task. The pauses do not keep the process alive.
 */
export function repeatInBackground(
  firstPauseMs: number,
  task: () => Promise<number>,
): BackgroundTask {
  let isStopped = false
  let timer: NodeJS.Timeout
  let running: Promise<void> = Promise.resolve()

  async function runAndSchedule(): Promise<void> {
    const pauseMs = await task()
    if (!isStopped) schedule(pauseMs)
  }
  function schedule(pauseMs: number): void {
    timer = setTimeout(() => {
      running = runAndSchedule()
    }, pauseMs).unref()
  }
  schedule(firstPauseMs)

  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}
