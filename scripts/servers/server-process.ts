// Starts a server as a child process and stops it: shared by PostgreSQL, Meilisearch and Redis.
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync, statfsSync } from 'node:fs'
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
  let { directory } = options
  try {
    const place = preparePlace(directory, name, reportProgress)
    directory = place.directory
    const previousPid = await stopPreviousRun(directory, name, reportProgress)
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
  } catch (error) {
    throw explainFullDisk(error, name, directory)
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
  const toError = (how: string) => startupError({ name, directory, port, how, logFile })
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

type Circumstances = {
  name: string
  directory: string
  /** What happened, as the rest of a sentence that begins with the name. */
  how: string
  port?: number
} & ({ logFile: string } | { log: string })

const shownLogLines = 12
/** With less free space than this, a disk counts as full. */
const leastFreeBytes = 1_000_000

/** Makes the error for a server, or for a step of its preparation, that failed. */
export function startupError(circumstances: Circumstances): Error {
  const { name, directory, port, how } = circumstances
  const log = 'log' in circumstances ? circumstances.log : readIfExists(circumstances.logFile)
  const isFull =
    /no space left on device|check free disk space|disk quota exceeded|os error 28\b/i.test(log) ||
    freeBytes(directory) < leastFreeBytes
  if (isFull) return fullDiskError(name, directory)
  if (port !== undefined && /address (already )?in use|os error (98|48)\b/i.test(log))
    return new PortInUse(name, port)
  const lastLines = log.trim().split('\n').slice(-shownLogLines)
  return new Error(
    `${name} ${how}. The end of its log:\n${lastLines.map((line) => `  ${line}`).join('\n')}`,
  )
}

/** Replaces the error of a file operation on a full disk. Returns any other error unchanged. */
export function explainFullDisk(error: unknown, name: string, directory: string): unknown {
  const isFull =
    error instanceof Error &&
    'code' in error &&
    (error.code === 'ENOSPC' || error.code === 'EDQUOT')
  return isFull ? fullDiskError(name, directory) : error
}

/** Meilisearch maps its files into memory: on a full disk it dies without a log message. */
function freeBytes(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize
  } catch {
    // The directory does not exist: the disk is not known.
    return Number.POSITIVE_INFINITY
  }
}

const fullDiskError = (name: string, directory: string) =>
  new Error(
    `${name}: the disk that holds ${directory} is full. ` +
      'Free some space there, or choose another directory.',
  )

function readIfExists(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
