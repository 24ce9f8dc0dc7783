// Reads how much memory a process uses, or all processes of a server together.
import { readdirSync, readFileSync } from 'node:fs'

/** Megabytes. `own` is not shared with files or other processes. `files` can be given back. */
export type Memory = { own: number; files: number; shared: number }

/** Returns the memory of a process and of its children, or zeros except on Linux. */
export function readMemory(pid: number): Memory {
  return [pid, ...listChildren(pid)].map(readOne).reduce((sum, one) => ({
    own: sum.own + one.own,
    files: Math.max(sum.files, one.files),
    // Every process of PostgreSQL maps the same buffers.
    shared: Math.max(sum.shared, one.shared),
  }))
}

/** Reads the memory every 250 ms until `stop`, which returns the peaks. */
export function watchMemory(pid: number): { stop(): Memory } {
  const peak = readMemory(pid)
  const sample = () => {
    const now = readMemory(pid)
    for (const kind of ['own', 'files', 'shared'] as const)
      peak[kind] = Math.max(peak[kind], now[kind])
  }
  const timer = setInterval(sample, sampleMs)
  return {
    stop() {
      clearInterval(timer)
      sample()
      return peak
    },
  }
}

const sampleMs = 250

function readOne(pid: number): Memory {
  const text = readOrNothing(`/proc/${pid}/status`)
  const megabytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0) / 1_024
  return { own: megabytes('RssAnon'), files: megabytes('RssFile'), shared: megabytes('RssShmem') }
}

function listChildren(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => {
      const stat = readOrNothing(`/proc/${candidate}/stat`)
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === pid
    })
}

/** A process may end while it is read. */
function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
