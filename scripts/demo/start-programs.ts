// Starts the API and the indexer as child processes of the demo, as they run in production.
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { spawnChild, watchExit } from '../servers/child-lifetime.ts'
import { stopTimeouts } from '../servers/stop-timeouts.ts'

export type Program = {
  stop(): Promise<void>
  /** Resolves with a message if the program ends before `stop` is called. */
  exited: Promise<string>
}

const root = join(import.meta.dirname, '../..')

/** Starts a script with exactly this environment. Its output goes to `logFile`. */
export function startProgram(
  name: string,
  script: string,
  env: Record<string, string>,
  logFile: string,
): Program {
  const output = openSync(logFile, 'w', 0o600)
  const child = spawnChild(process.execPath, [script], {
    cwd: root,
    env,
    stopSignal: 'SIGTERM',
    output,
  })
  closeSync(output)
  const exit = watchExit(child)
  return {
    exited: exit.endedUnexpectedly.then(
      (how) => `The ${name} ended unexpectedly (${how}). Its log is ${logFile}.`,
    ),
    stop: () => exit.stop('SIGTERM', stopTimeouts.programMs),
  }
}
