// Runs programs of the container test, and keeps what they print until they fail.
import { spawn } from 'node:child_process'

export type RunOptions = { cwd?: string; env?: NodeJS.ProcessEnv; input?: string | Buffer }

/** Runs a program. Returns its standard output, or prints its last lines and throws. */
export function run(program: string, args: string[], options: RunOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const { input, ...rest } = options
    const child = spawn(program, args, rest)
    const output: string[] = []
    const all: string[] = []
    child.stdout.on('data', (text: Buffer) => {
      output.push(String(text))
      all.push(String(text))
    })
    child.stderr.on('data', (text: Buffer) => all.push(String(text)))
    child.once('error', reject)
    child.once('close', (status) => {
      if (status === 0) resolve(output.join(''))
      else {
        console.error(`${args.join(' ')}\n${all.join('').slice(-4_000)}`)
        reject(new Error(`${program} ended with status ${status}; its last lines are above`))
      }
    })
    // A program that ends before it has read everything says why itself.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })
}
