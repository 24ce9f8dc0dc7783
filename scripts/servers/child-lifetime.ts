// Starts child processes that end with this process, however this process ends, `kill -9` included.
// Works on Linux and macOS and from any thread. A parent death signal (prctl) would be bound to the
// thread that forked.
import { type ChildProcess, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import type { Account } from './data-directory.ts'

/**
 * The shell starts a watcher in the background and becomes the command, so the child's pid is the
 * command's. The watcher reads from a socket whose other end only this process holds. A line means
 * that the command has ended. End of file means that this process has ended: the watcher then sends
 * the stop signal, and CONT so that a paused command receives it: to the command, or to its process
 * group if the first argument is a minus sign. The double parentheses detach the watcher, because
 * PostgreSQL takes the end of an unknown child for a crash.
 */
const watcherScript =
  '((read _ <&3 || { kill -s "$0" -- "$1"$$; kill -s CONT -- "$1"$$; }) >/dev/null 2>&1 &); ' +
  'shift; exec "$@" 3<&-'

type Options = {
  cwd: string
  env?: NodeJS.ProcessEnv
  account?: Account
  /** Default: SIGINT. */
  stopSignal?: 'SIGINT' | 'SIGTERM' | 'SIGKILL'
  /** When this process ends, everything that the command has started gets `stopSignal` too. */
  stopsGroup?: boolean
  /** Sends `stopSignal` on abort. */
  signal?: AbortSignal
}

type Streams = {
  /** Where standard output and error go: a file descriptor, or streams of the child. */
  output: number | 'pipe'
  /** Default: none. */
  input?: 'pipe'
}

/**
 * Starts a command, which gets `stopSignal` when this process ends. It runs in its own process
 * group, so Ctrl+C does not reach it, and inherits nothing of the environment but PATH.
 */
export function spawnChild(
  command: string,
  args: string[],
  options: Options & Streams,
): ChildProcess {
  const { cwd, env, account, stopSignal = 'SIGINT', signal, output, input = 'ignore' } = options
  const watcherArgs = [stopSignal.slice(3), options.stopsGroup ? '-' : '']
  const child = spawn('/bin/sh', ['-c', watcherScript, ...watcherArgs, command, ...args], {
    ...account,
    cwd,
    env: { PATH: process.env.PATH, ...env },
    detached: true,
    signal,
    killSignal: stopSignal,
    stdio: [input, output, output, 'pipe'],
  })
  const watcher = child.stdio[3] as Writable
  // The watcher may have ended first.
  watcher.on('error', () => {})
  child.once('exit', () => watcher.end('over\n', () => watcher.destroy()))
  return child
}

/**
 * Runs a command to its end. Returns everything it printed and its exit status, which is null if a
 * signal ended it.
 */
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

export type ChildExit = {
  /** Resolves with how the child ended, for messages. */
  ended: Promise<string>
  /** Sends the signal, kills the child after `timeoutMs`, and resolves when it has ended. */
  stop(signal: NodeJS.Signals, timeoutMs: number): Promise<void>
  /** Resolves with how the child ended if nobody called `stop`, and stays pending otherwise. */
  endedUnexpectedly: Promise<string>
}

/** Watches the end of a child. Must be called right after it was spawned. */
export function watchExit(child: ChildProcess): ChildExit {
  let isStopping = false
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (status, signal) =>
      resolve(signal === null ? `exit status ${status}` : `ended by ${signal}`),
    )
  })
  return {
    ended,
    async stop(signal, timeoutMs) {
      isStopping = true
      const force = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
      child.kill(signal)
      // A paused process receives the signal only when it continues.
      child.kill('SIGCONT')
      await ended
      clearTimeout(force)
    },
    endedUnexpectedly: new Promise((resolve) => {
      ended.then((how) => isStopping || resolve(how))
    }),
  }
}
