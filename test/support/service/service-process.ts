// A process of the cluster that can be killed, paused and restarted.
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningServer } from '../../../scripts/servers/running-server.ts'
import { type Env, spawnProgram } from '../../../scripts/servers/service.ts'

/** Each method resolves when the process answers again. */
export type ServiceProcess = {
  /** Of the process that was started last. */
  readonly pid: number | undefined
  /** Sends SIGKILL, calls `meanwhile`, and starts the process again after `forMs`. */
  kill(forMs: number, meanwhile?: () => void): Promise<void>
  /** Sends SIGTERM, calls `meanwhile`, and starts the process again after `forMs`. */
  restart(forMs: number, meanwhile?: () => void): Promise<void>
  /** Sends SIGSTOP, and SIGCONT after `forMs`. */
  pause(forMs: number): Promise<void>
  stop(): Promise<void>
}

const serverStart = { attempts: 20, retryMs: 250 }
/** A program that ends by itself is started again after this long, as a supervisor does. */
const supervisorDelayMs = 200
/** Must exceed `supervisorDelayMs`, so that the supervisor has seen that the end was intended. */
const leastDownMs = 250
const forcedKillMs = 5_000
const answerPollMs = 50

/** Runs a server. `start` starts it, and starts it again on the same data and port. */
export async function runServer(
  start: () => Promise<RunningServer>,
): Promise<{ server: RunningServer; process: ServiceProcess }> {
  let current = await start()
  const startAgain = async () => {
    // The children of a killed PostgreSQL hold its shared memory for a moment.
    for (let attempt = 1; ; attempt++) {
      try {
        current = await start()
        return
      } catch (error) {
        if (attempt === serverStart.attempts) throw error
        await sleep(serverStart.retryMs)
      }
    }
  }
  const pid = () => current.pid ?? 0
  return {
    server: current,
    process: {
      get pid() {
        return current.pid ?? undefined
      },
      async kill(forMs, meanwhile) {
        const { exited } = current
        process.kill(pid(), 'SIGKILL')
        await exited
        meanwhile?.()
        await sleep(forMs)
        await startAgain()
      },
      async restart(forMs, meanwhile) {
        await current.stop()
        meanwhile?.()
        await sleep(forMs)
        await startAgain()
      },
      pause: (forMs) => pauseWithChildren(pid(), forMs),
      stop: () => current.stop(),
    },
  }
}

type ProgramOptions = {
  env: Env
  logFile: string
  isAnswering(): Promise<boolean>
  /** Called when the program ended by itself after it had answered. */
  onUnexpectedExit(status: string): void
}

/** Runs a Node program and starts it again whenever it ends by itself. */
export async function runProgram(args: string[], options: ProgramOptions): Promise<ServiceProcess> {
  const program = new SupervisedProgram(args, options)
  await program.start()
  return program
}

class SupervisedProgram implements ServiceProcess {
  readonly #args: string[]
  readonly #options: ProgramOptions
  readonly #output: number
  #shouldRun = true
  #hasAnswered = false
  #child!: ChildProcess
  #ended!: Promise<void>

  constructor(args: string[], options: ProgramOptions) {
    this.#args = args
    this.#options = options
    this.#output = openSync(options.logFile, 'w', 0o600)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  async start(): Promise<void> {
    this.#shouldRun = true
    this.#spawn()
    await this.#untilAnswering()
  }

  async kill(forMs: number, meanwhile?: () => void): Promise<void> {
    await this.#end('SIGKILL', forMs)
    meanwhile?.()
    await this.start()
  }

  async restart(forMs: number, meanwhile?: () => void): Promise<void> {
    await this.#end('SIGTERM', forMs)
    meanwhile?.()
    await this.start()
  }

  async pause(forMs: number): Promise<void> {
    const paused = this.#child
    paused.kill('SIGSTOP')
    await sleep(forMs)
    paused.kill('SIGCONT')
    await this.#untilAnswering()
  }

  async stop(): Promise<void> {
    if (this.#shouldRun) await this.#end('SIGTERM', 0)
    closeSync(this.#output)
  }

  #spawn(): void {
    const child = spawnProgram(this.#args, this.#options.env, {
      stopSignal: 'SIGTERM',
      output: this.#output,
    })
    this.#child = child
    this.#hasAnswered = false
    this.#ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        if (this.#shouldRun && this.#hasAnswered)
          this.#options.onUnexpectedExit(`${signal ?? code}`)
        resolve()
      })
    })
    this.#ended.then(async () => {
      await sleep(supervisorDelayMs)
      if (this.#shouldRun) this.#spawn()
    })
  }

  async #end(signal: NodeJS.Signals, downMs: number): Promise<void> {
    this.#shouldRun = false
    const force = setTimeout(() => this.#child.kill('SIGKILL'), forcedKillMs)
    this.#child.kill(signal)
    await this.#ended
    clearTimeout(force)
    await sleep(Math.max(leastDownMs, downMs))
  }

  async #untilAnswering(): Promise<void> {
    while (!(await this.#options.isAnswering())) await sleep(answerPollMs)
    this.#hasAnswered = true
  }
}

/**
 * Pauses a process with its children: the backends of a paused postmaster would go on answering.
 */
async function pauseWithChildren(pid: number, forMs: number): Promise<void> {
  const pids = [pid, ...childrenOf(pid)]
  for (const each of pids) sendSignal(each, 'SIGSTOP')
  await sleep(forMs)
  for (const each of pids) sendSignal(each, 'SIGCONT')
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === parent)
    .map(Number)
}

function parentOf(pid: string): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    // The process has ended.
    return null
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended.
  }
}
