// Ensures one server per directory: records which process runs there, and waits for the server of a
// previous run to stop.
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ReportProgress, stopTimeouts } from './running-server.ts'

type Run = { server: ProcessIdentity; parent: ProcessIdentity }

const runFileName = 'running.json'
const runFile = (directory: string) => join(directory, runFileName)

/** Records that the server with this pid, started by this process, uses the directory. */
export function recordRun(directory: string, pid: number): void {
  const run: Run = {
    server: identifyProcess(pid),
    parent: identifyProcess(process.pid),
  }
  writeFileSync(runFile(directory), JSON.stringify(run))
}

/**
 * Waits until the server of a previous run on the directory has ended, and kills it if its parent
 * is dead and it does not end by itself. Returns its pid, or undefined if there was none. Throws if
 * that run is still going on.
 */
export async function stopPreviousRun(
  directory: string,
  name: string,
  reportProgress: ReportProgress,
): Promise<number | undefined> {
  const run = readRun(directory)
  if (run === undefined) return undefined
  const { server, parent } = run
  if (isAlive(server)) {
    if (isAlive(parent)) {
      throw new Error(
        `${name} is already running on ${directory} (PID ${server.pid}, started by PID ` +
          `${parent.pid}). Stop that run first, or choose another directory.`,
      )
    }
    reportProgress(`waiting for the ${name} of a previous run (PID ${server.pid}) to stop`)
    if (!(await hasEndedWithin(server, stopTimeouts.orphanMs))) process.kill(server.pid, 'SIGKILL')
    if (!(await hasEndedWithin(server, stopTimeouts.killedMs)))
      throw new Error(
        `The ${name} of a previous run (PID ${server.pid}) does not stop. Kill that process.`,
      )
  }
  return server.pid
}

/**
 * Waits until every server in a directory below `root` has ended, and kills those that do not end
 * by themselves. Their parents must have ended before.
 */
export async function waitForServersBelow(root: string): Promise<void> {
  for (const file of globSync(`**/${runFileName}`, { cwd: root })) {
    const server = readRun(join(root, dirname(file)))?.server
    if (server !== undefined && !(await hasEndedWithin(server, stopTimeouts.orphanMs)))
      process.kill(server.pid, 'SIGKILL')
  }
}

/** Returns undefined for a missing or an incomplete file. */
function readRun(directory: string): Run | undefined {
  try {
    return JSON.parse(readFileSync(runFile(directory), 'utf8')) as Run
  } catch {
    return undefined
  }
}

/** A pid alone may have been reused. Together with the start time it identifies a process. */
export type ProcessIdentity = { pid: number; startTime: string | undefined }

const pollMs = 50

/** Returns the identity of the process that has this pid now. */
export const identifyProcess = (pid: number): ProcessIdentity => ({
  pid,
  startTime: readStartTime(pid),
})

/** Waits until the process has ended. Returns whether it did so within `timeoutMs`. */
export async function hasEndedWithin(
  identity: ProcessIdentity,
  timeoutMs: number,
): Promise<boolean> {
  const deadline = Date.now() + timeoutMs
  while (isAlive(identity)) {
    if (Date.now() > deadline) return false
    await sleep(pollMs)
  }
  return true
}

/** Whether the process is still running. A zombie is not. */
export const isAlive = ({ pid, startTime }: ProcessIdentity) =>
  startTime !== undefined && readStartTime(pid) === startTime

/** The start time of a process in the system's format, or undefined for an ended or zombie one. */
function readStartTime(pid: number): string | undefined {
  if (process.platform === 'linux') {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
    } catch {
      return undefined
    }
  }
  const output = spawnSync('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
  }).stdout.trim()
  return output === '' || output.startsWith('Z') ? undefined : output.replace(/^\S+\s+/, '')
}
