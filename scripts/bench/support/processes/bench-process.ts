// Starts the processes that a benchmark measures. They end with the benchmark, however it ends: a
// failure, Ctrl+C and `kill -9` leave none.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { spawnChild } from '../../../servers/child-lifetime.ts'

const root = join(import.meta.dirname, '../../../..')
/** The output goes where that of the benchmark's errors goes. */
const standardError = 2

export type BenchProcess = {
  pid: number
  /** Whether the process has ended. */
  hasEnded(): boolean
  stop(): Promise<void>
}

/**
 * Runs Node with these arguments, in the root of the project. `env` is the whole environment.
 * `output` is the file descriptor for everything that it prints.
 */
export function startBenchProcess(
  args: string[],
  env: NodeJS.ProcessEnv = {},
  output = standardError,
): BenchProcess {
  const child = spawnChild(process.execPath, args, {
    cwd: root,
    env,
    stopSignal: 'SIGTERM',
    output,
  })
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  // A benchmark that has failed ends although nobody has stopped the process.
  child.unref()
  for (const stream of child.stdio) (stream as Socket | null)?.unref()
  return {
    pid: child.pid ?? 0,
    hasEnded,
    async stop() {
      if (hasEnded()) return
      const exit = once(child, 'exit')
      child.ref()
      child.kill('SIGTERM')
      await exit
    },
  }
}
