// Explains why a server failed to start, from the last lines of its log, and what to do about it.
import { readFileSync, statfsSync } from 'node:fs'
import { PortInUse } from './free-port.ts'

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
