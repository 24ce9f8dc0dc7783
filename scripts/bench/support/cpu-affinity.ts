// Which processor cores a process may use, so that the load of a benchmark takes none of the service's.
import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

const all = availableParallelism()
/** The service has these, and its load the others. */
export const cores = {
  service: range(0, Math.floor(all / 2)),
  load: range(Math.floor(all / 2), all),
}

/** Whether the two can be kept apart here. */
export function canKeepApart(): boolean {
  if (all < 2) return false
  try {
    return execFileSync('taskset', ['--version'], { encoding: 'utf8', stdio: 'pipe' }).includes(
      'taskset',
    )
  } catch {
    return false
  }
}

/** From now on this process, and all that it starts, uses these cores only. What it has started already stays where it is. */
export function moveTo(which: string): void {
  execFileSync('taskset', ['-acp', which, String(process.pid)], { stdio: 'ignore' })
}

function range(from: number, to: number): string {
  return `${from}-${to - 1}`
}
