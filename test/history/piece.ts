// A piece of the world: a process that somebody keeps running, and that can be killed, paused and started again.
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { spawnChild } from '../../scripts/servers/child-lifetime.ts'
import type { RunningServer } from '../../scripts/servers/running-server.ts'

export type Piece = {
  /** Ends it with -9, lets `meanwhile` happen, and has it started again after so many milliseconds. Resolves when it answers. */
  kill(forMs: number, meanwhile?: () => void): Promise<void>
  /** The same with the polite signal. */
  restart(forMs: number): Promise<void>
  /** SIGSTOP, and after so many milliseconds SIGCONT. */
  pause(forMs: number): Promise<void>
  stop(): Promise<void>
}

const root = join(import.meta.dirname, '../..')

/** Runs a server; `start` starts it, also again, on the same data and port. */
export async function server(
  start: () => Promise<RunningServer>,
): Promise<{ sidecar: RunningServer; piece: Piece }> {
  let current = await start()
  const again = async () => {
    // Killed, PostgreSQL leaves children that hold its memory for a moment.
    for (let attempt = 1; ; attempt++) {
      try {
        current = await start()
        return
      } catch (error) {
        if (attempt === 20) throw error
        await sleep(250)
      }
    }
  }
  const pid = () => current.pid ?? 0
  const piece: Piece = {
    async kill(forMs, meanwhile) {
      const gone = current.exited
      process.kill(pid(), 'SIGKILL')
      await gone
      meanwhile?.()
      await sleep(forMs)
      await again()
    },
    async restart(forMs) {
      await current.stop()
      await sleep(forMs)
      await again()
    },
    pause: (forMs) => pauseFamily(pid(), forMs),
    stop: () => current.stop(),
  }
  return { sidecar: current, piece }
}

type Program = {
  env: Record<string, string>
  logFile: string
  answers(): Promise<boolean>
  /** Is told when it ended by itself although it had answered. */
  onDeath(status: string): void
}

/** Runs one of our programs for as long as it is wanted: when it ends by itself it is started again. */
export async function program(
  words: string[],
  { env, logFile, answers, onDeath }: Program,
): Promise<Piece> {
  let isWanted = true
  let hasAnswered = false
  let child: ChildProcess
  let ended: Promise<void>
  const output = openSync(logFile, 'w', 0o600)

  function start(): void {
    child = spawnChild(process.execPath, words, {
      cwd: root,
      env,
      stopSignal: 'SIGTERM',
      output,
    })
    hasAnswered = false
    ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        if (isWanted && hasAnswered) onDeath(`${signal ?? code}`)
        resolve()
      })
    })
    ended.then(async () => {
      await sleep(200)
      if (isWanted) start()
    })
  }
  async function end(signal: NodeJS.Signals, forMs: number): Promise<void> {
    isWanted = false
    const force = setTimeout(() => child.kill('SIGKILL'), 5_000)
    child.kill(signal)
    await ended
    clearTimeout(force)
    await sleep(Math.max(250, forMs)) // longer than the keeper's own wait
  }
  async function again(): Promise<void> {
    isWanted = true
    start()
    await untilAnswers()
  }
  async function untilAnswers(): Promise<void> {
    while (!(await answers())) await sleep(50)
    hasAnswered = true
  }
  start()
  await untilAnswers()
  return {
    async kill(forMs, meanwhile) {
      await end('SIGKILL', forMs)
      meanwhile?.()
      await again()
    },
    async restart(forMs) {
      await end('SIGTERM', forMs)
      await again()
    },
    async pause(forMs) {
      const paused = child
      paused.kill('SIGSTOP')
      await sleep(forMs)
      paused.kill('SIGCONT')
      await untilAnswers()
    },
    async stop() {
      if (isWanted) await end('SIGTERM', 0)
      closeSync(output)
    },
  }
}

/** Pauses a process with its children: a PostgreSQL whose postmaster alone stands still goes on answering. */
async function pauseFamily(pid: number, forMs: number): Promise<void> {
  const family = [pid, ...childrenOf(pid)]
  for (const each of family) signal(each, 'SIGSTOP')
  await sleep(forMs)
  for (const each of family) signal(each, 'SIGCONT')
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === pid
      } catch {
        return false
      }
    })
    .map(Number)
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {}
}
