// A child process on a tether: however this process ends, `kill -9` included, the child is told to stop.
// Works alike on Linux and macOS, and whatever thread starts it (a parent death signal is bound to the thread that forked).
import { type ChildProcess, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import type { Account } from './server-account.ts'

// The shell leaves a watcher behind and becomes the command, so the child's pid is the command's. The watcher reads a socket whose other
// end only we hold: a line means that the command is over, the end of the file that we are. CONT wakes a paused command, so that it hears.
// The watcher is nobody's child (the double brackets), because postgres would take an unknown child that ends for a crash.
const script =
  '((read _ <&3 || { kill -s "$0" $$; kill -s CONT $$; }) >/dev/null 2>&1 &); exec "$@" 3<&-'

type Options = {
  cwd: string
  env?: NodeJS.ProcessEnv
  account?: Account
  stopSignal?: 'SIGINT' | 'SIGTERM'
  signal?: AbortSignal
}

/**
 * Starts a command in a process group of its own (Ctrl+C does not reach it) whose output goes to the file descriptor `output`.
 * It inherits nothing of our environment but PATH; if we end first, or on the abort of `signal`, it gets `stopSignal` (default SIGINT).
 */
export function spawnChild(
  command: string,
  args: string[],
  options: Options & { output: number | 'pipe' },
): ChildProcess {
  const { cwd, env, account, stopSignal = 'SIGINT', signal, output } = options
  const child = spawn('/bin/sh', ['-c', script, stopSignal.slice(3), command, ...args], {
    ...account,
    cwd,
    env: { PATH: process.env.PATH, ...env },
    detached: true,
    signal,
    killSignal: stopSignal,
    stdio: ['ignore', output, output, 'pipe'],
  })
  const tether = child.stdio[3] as Writable
  tether.on('error', () => {})
  child.once('exit', () => tether.end('over\n', () => tether.destroy()))
  return child
}

/** Runs a command to its end, on the tether. Answers its exit status (null when a signal ended it) and all it wrote. */
export function runChild(
  command: string,
  args: string[],
  options: Options,
): Promise<{ status: number | null; output: string }> {
  const child = spawnChild(command, args, { ...options, output: 'pipe' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (status) => resolve({ status, output }))
  })
}
