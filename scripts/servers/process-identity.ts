// Tells whether a process is still running, even if its pid has been reused.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

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
