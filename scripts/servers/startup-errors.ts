// What went wrong with a server, in words that say what to do: reads the last lines of its log.
import { readFileSync, statfsSync } from 'node:fs'
import { PortInUse } from './free-port.ts'

type Circumstances = { name: string; directory: string; how: string; port?: number } & (
  | { logFile: string }
  | { log: string }
)

/** Makes the error for a server, or a step before it, that failed (`how`, in words that follow the name) after writing this log. */
export function startupError(circumstances: Circumstances): Error {
  const { name, directory, port, how } = circumstances
  const log = 'log' in circumstances ? circumstances.log : readIfThere(circumstances.logFile)
  const isFull =
    /no space left on device|check free disk space|disk quota exceeded|os error 28\b/i.test(log) ||
    freeBytes(directory) < 1_000_000
  if (isFull) return fullDisk(name, directory)
  if (port !== undefined && /address (already )?in use|os error (98|48)\b/i.test(log))
    return new PortInUse(name, port)
  const lastLines = log.trim().split('\n').slice(-12)
  return new Error(
    `${name} ${how}. Its last words:\n${lastLines.map((line) => `  ${line}`).join('\n')}`,
  )
}

/** Says of a failed file operation that the disk is full; any other error stays what it is. */
export function explainFullDisk(error: unknown, name: string, directory: string): unknown {
  const isFull =
    error instanceof Error &&
    'code' in error &&
    (error.code === 'ENOSPC' || error.code === 'EDQUOT')
  return isFull ? fullDisk(name, directory) : error
}

// A server that maps its files, as Meilisearch does, dies of a full disk without a word.
function freeBytes(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

const fullDisk = (name: string, directory: string) =>
  new Error(
    `${name}: the disk that holds ${directory} is full. Free some space there, or choose another directory.`,
  )

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
