// Starts a server as a child process and stops it: shared by PostgreSQL, Meilisearch and Redis.
import type { ChildProcess } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { spawnChild, watchExit } from './child-lifetime.ts'
import { type Place, preparePlace } from './data-directory.ts'
import { choosePort, PortInUse } from './free-port.ts'
import { recordRun, stopPreviousRun } from './previous-run.ts'
import {
  type ReportProgress,
  type RunningServer,
  startupPollMs,
  startupTimeoutMs,
  stopTimeouts,
} from './running-server.ts'

export type Command = {
  command: string
  args: (port: number) => string[]
  env?: NodeJS.ProcessEnv
  url: (port: number) => string
  /** Whether the server executes a request. Throws if waiting longer is useless. */
  isAnswering: (url: string) => Promise<boolean>
}

type ServerOptions = {
  name: string
  directory: string
  /** Undefined: any free port. */
  port: number | undefined
  reportProgress: ReportProgress
  stopSignal: 'SIGINT' | 'SIGTERM'
  /** Prepares the files of the server. `previousPid` is that of the last server there, if any. */
  prepare: (place: Place, previousPid: number | undefined) => Promise<Command>
}

/** How often a start is repeated when another process has taken the chosen free port. */
const portAttempts = 3

/** Starts a server and waits until it answers. Throws an error that shows the end of its log. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { name, reportProgress } = options
  const place = preparePlace(options.directory, name, reportProgress)
  const previousPid = await stopPreviousRun(place.directory, name, reportProgress)
  // Checked before the preparation, which may take seconds.
  await choosePort(name, options.port)
  const command = await options.prepare(place, previousPid)
  for (let attempt = 1; ; attempt++) {
    try {
      return await launch(options, place, command, await choosePort(name, options.port))
    } catch (error) {
      const mayRetry = error instanceof PortInUse && options.port === undefined
      if (!mayRetry || attempt === portAttempts) throw error
    }
  }
}

async function launch(
  { name, stopSignal }: ServerOptions,
  { directory, account }: Place,
  server: Command,
  port: number,
): Promise<RunningServer> {
  const logFile = join(directory, 'server.log')
  const output = openSync(logFile, 'w', 0o600)
  const child = spawnChild(server.command, server.args(port), {
    cwd: directory,
    env: server.env ?? {},
    account,
    stopSignal,
    output,
  })
  closeSync(output)
  const exit = watchExit(child)
  const toError = (how: string) => {
    // A test may have deleted the directory of a server that it killed.
    const log = existsSync(logFile) ? readFileSync(logFile, 'utf8') : ''
    return /address (already )?in use|os error (98|48)\b/i.test(log)
      ? new PortInUse(name, port)
      : startupError(name, how, log)
  }
  const exited = exit.endedUnexpectedly.then(
    (how) => toError(`(PID ${child.pid}) ended unexpectedly: ${how}`).message,
  )
  const stop = () => exit.stop(stopSignal, stopTimeouts.serverMs)

  const url = server.url(port)
  const deadline = Date.now() + startupTimeoutMs
  try {
    if (child.pid !== undefined) recordRun(directory, child.pid)
    while (!(await server.isAnswering(url))) {
      if (hasEnded(child)) throw toError(`did not start: ${await exit.ended}`)
      if (Date.now() > deadline)
        throw toError(`did not answer within ${startupTimeoutMs / 1_000} s`)
      await sleep(startupPollMs)
    }
  } catch (error) {
    await stop()
    throw error
  }
  return { name, url, pid: child.pid ?? null, stop, exited }
}

const hasEnded = (child: ChildProcess) =>
  child.pid === undefined || child.exitCode !== null || child.signalCode !== null

const shownLogLines = 12

/** Makes the error for a server that failed. `how` is the rest of a sentence after its name. */
export function startupError(name: string, how: string, log: string): Error {
  const lastLines = log.trim().split('\n').slice(-shownLogLines)
  return new Error(
    `${name} ${how}. The end of its log:\n${lastLines.map((line) => `  ${line}`).join('\n')}`,
  )
}
