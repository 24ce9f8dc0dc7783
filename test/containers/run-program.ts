// Runs programs of the container test, and keeps what they print until they fail.
import { spawnChild } from '../../scripts/servers/child-lifetime.ts'

export type RunOptions = {
  cwd?: string
  env?: NodeJS.ProcessEnv
  input?: string | Buffer
  /** Ends the program and everything that it has started. */
  signal?: AbortSignal
}

/**
 * Runs a program in a process group of its own, so that Ctrl+C does not reach it: what stops it is
 * `signal`, or the end of this process. Returns its standard output. Throws if it fails, after
 * printing its last lines, and if it is stopped.
 */
export function run(program: string, args: string[], options: RunOptions = {}): Promise<string> {
  const { input, signal, cwd = process.cwd(), env = process.env } = options
  signal?.throwIfAborted()
  return new Promise((resolve, reject) => {
    const streams = { output: 'pipe', input: 'pipe' } as const
    const lifetime = { stopSignal: 'SIGTERM', stopsGroup: true } as const
    const child = spawnChild(program, args, { cwd, env, ...lifetime, ...streams })
    const stop = () => process.kill(-(child.pid ?? 0), 'SIGTERM')
    signal?.addEventListener('abort', stop)
    const output: string[] = []
    const all: string[] = []
    child.stdout?.on('data', (text: Buffer) => {
      output.push(String(text))
      all.push(String(text))
    })
    child.stderr?.on('data', (text: Buffer) => all.push(String(text)))
    child.once('error', reject)
    child.once('exit', () => signal?.removeEventListener('abort', stop))
    child.once('close', (status) => {
      if (status === 0) resolve(output.join(''))
      else if (signal?.aborted) reject(signal.reason)
      else {
        console.error(`${args.join(' ')}\n${all.join('').slice(-4_000)}`)
        reject(new Error(`${program} ended with status ${status}; its last lines are above`))
      }
    })
    // A program that ends before it has read everything says why itself.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input)
  })
}
