// Pins processes to processor cores, so that the load of a benchmark does not use those of the
// service.
import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

const all = availableParallelism()
/** The service gets one half of the cores, the load the other. */
export const cores = {
  service: range(0, Math.floor(all / 2)),
  load: range(Math.floor(all / 2), all),
}

/** Whether this machine has several cores and taskset. */
export function canPinToCores(): boolean {
  if (all < 2) return false
  try {
    return execFileSync('taskset', ['--version'], { encoding: 'utf8', stdio: 'pipe' }).includes(
      'taskset',
    )
  } catch {
    return false
  }
}

/** Pins this process and its future children. Its present children keep their cores. */
export function pinToCores(list: string): void {
  execFileSync('taskset', ['-acp', list, String(process.pid)], { stdio: 'ignore' })
}

function range(from: number, to: number): string {
  return `${from}-${to - 1}`
}
