// Runs a program of this project as a process that ends with its test.
import type { ChildProcess } from 'node:child_process'
import { type Env, spawnProgram } from '../../scripts/servers/service.ts'
import type { Test } from './database/test-database.ts'

const { NODE_COMPILE_CACHE = '', NODE_OPTIONS = '' } = process.env

/** For the environment of a program that a test starts. Port 0 is any free port. */
export const fastStart = { NODE_COMPILE_CACHE, NODE_OPTIONS, INDEXER_OPS_PORT: '0' }

export type RunningProgram = { child: ChildProcess; output(): string; exit: Promise<number | null> }

/**
 * Starts a program of this project with this environment. It is killed when the test ends, also if
 * the test itself is killed. `exit` resolves to its exit status.
 */
export function startProgram(t: Test, words: string[], env: Env): RunningProgram {
  // No load shedding unless a test asks for it: the machine may be slow at any time.
  const own = { ...fastStart, SHED_DELAY_MS: '0', ...env }
  const child = spawnProgram(words, own, { stopSignal: 'SIGKILL', output: 'pipe', input: 'pipe' })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  const exit = new Promise<number | null>((resolve) =>
    child.once('close', (status) => resolve(status)),
  )
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exit
  })
  return { child, output: () => Buffer.concat(chunks).toString(), exit }
}
