// One server per directory: notes who runs there, and sees an earlier run off before the next one starts.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ReportProgress } from './running-server.ts'

// A pid alone may be somebody else's by now; together with its start time it is not.
type Process = { pid: number; born: string | undefined }
type Run = { server: Process; caller: Process }

const noteIn = (directory: string) => join(directory, 'running.json')

/** Notes that the server with this pid, started by this process, uses the directory. */
export function recordRun(directory: string, pid: number): void {
  const run: Run = {
    server: { pid, born: born(pid) },
    caller: { pid: process.pid, born: born(process.pid) },
  }
  writeFileSync(noteIn(directory), JSON.stringify(run))
}

/**
 * Waits until the server of an earlier run on the directory is gone; one whose parent is dead and that does not go within 15 s is killed.
 * Answers the pid of that server when there was one. Throws when the run is not earlier but going on.
 */
export async function stopPreviousRun(
  directory: string,
  name: string,
  reportProgress: ReportProgress,
): Promise<number | undefined> {
  const run = readRun(directory)
  if (run === undefined) return undefined
  const { server, caller } = run
  if (isAlive(server)) {
    if (isAlive(caller)) {
      throw new Error(
        `${name} is already running on ${directory} (PID ${server.pid}, started by PID ${caller.pid}). Stop that run first, or choose another directory.`,
      )
    }
    reportProgress(`waiting for the ${name} of an earlier run (PID ${server.pid}) to stop`)
    if (!(await isGone(server, 15_000))) process.kill(server.pid, 'SIGKILL')
    if (!(await isGone(server, 5_000)))
      throw new Error(
        `${name} of an earlier run (PID ${server.pid}) does not stop: end it by hand.`,
      )
  }
  return server.pid
}

/** Whether a server runs on the directory now. */
export function isRunning(directory: string): boolean {
  const run = readRun(directory)
  return run !== undefined && isAlive(run.server)
}

// A note that a full disk cut short counts as none: its server was stopped at once.
function readRun(directory: string): Run | undefined {
  try {
    return JSON.parse(readFileSync(noteIn(directory), 'utf8')) as Run
  } catch {
    return undefined
  }
}

async function isGone(which: Process, withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs
  while (isAlive(which)) {
    if (Date.now() > deadline) return false
    await sleep(50)
  }
  return true
}

const isAlive = (which: Process) => which.born !== undefined && born(which.pid) === which.born

/** The start time of a process in the system's own words; undefined for one that is gone, or dead and not yet collected. */
function born(pid: number): string | undefined {
  if (process.platform === 'linux') {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
    } catch {
      return undefined
    }
  }
  const answer = spawnSync('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
  }).stdout.trim()
  return answer === '' || answer.startsWith('Z') ? undefined : answer.replace(/^\S+\s+/, '')
}
