// A child process that renders: it is started on demand, limited in time and memory, and replaced
// after failures. The child uses performTasks of rendering-process-messages.ts.
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { ReplicaReadOutcome } from '../../database/replica/replica.ts'
import { QuoteFailure } from '../failures.ts'
import { type RenderingProcessLimits, renderingPriority } from './rendering-limits.ts'
import type { Reply } from './rendering-process-messages.ts'
import { watchTimeLimits } from './rendering-time-limit.ts'

const runLimited = join(import.meta.dirname, 'run-limited.sh')

type RenderingProcessOptions = {
  /** The file of the program that the process runs. */
  program: URL
  /** What the process renders, such as "PDF", for messages. */
  what: string
  limits: RenderingProcessLimits
  nodeOptions?: string[]
  /** Called if a task tried to read from the replica. */
  onReplicaRead?(outcome: ReplicaReadOutcome): void
}

/** A process that performs one task at a time. The first task starts it. */
export class RenderingProcess<Task extends object, Result> {
  readonly #options: RenderingProcessOptions
  #child: ChildProcess | undefined
  #taskCount = 0
  #idleTimer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: RenderingProcessOptions) {
    this.#options = options
  }

  /**
   * Returns the result of a task. Throws the QuoteFailure that the task threw, or one with the
   * reason `starved` or, after `stop`, `stopping`. If rendering fails in another way, or if the
   * process ends or exceeds a limit, replaces the process and throws an error.
   */
  async perform(task: Task): Promise<Result> {
    clearTimeout(this.#idleTimer)
    const { what, onReplicaRead } = this.#options
    const reply = await this.#getReply(task)
    if (reply.replicaRead !== null) onReplicaRead?.(reply.replicaRead)
    if ('reason' in reply) {
      const { reason, message } = reply
      if (reason !== 'failed') throw new QuoteFailure(reason, message)
      this.#replace()
      throw new Error(`Rendering the ${what} failed: ${message}`)
    }
    this.#taskCount += 1
    this.#limitMemory(reply.residentBytes)
    return reply.result
  }

  /** Kills the process and rejects its task and all further ones. */
  stop(): void {
    this.#isStopped = true
    this.#replace()
  }

  async #getReply(task: Task): Promise<Reply<Result>> {
    if (this.#isStopped) throw new QuoteFailure('stopping', 'The service is stopping.')
    const { what, limits } = this.#options
    const child = this.#startChild()
    const timeLimits = watchTimeLimits(child.pid, what, limits)
    try {
      return await Promise.race([sendTask<Result>(child, task, what), timeLimits.exceeded])
    } catch (error) {
      if (this.#isStopped) throw new QuoteFailure('stopping', 'The service is stopping.')
      this.#replace()
      throw error
    } finally {
      timeLimits.stop()
      releaseChild(child)
    }
  }

  #startChild(): ChildProcess {
    const { program, limits, nodeOptions = [] } = this.#options
    // The process gets an empty environment, because the environment contains secrets. Its error
    // output is discarded, because it is not in the log format and could contain texts of a quote.
    // The command is: sh run-limited.sh KILOBYTES NICE node OPTIONS program. It is started by fork,
    // and not by spawn, because fork opens the channel for messages.
    if (!this.#child?.connected)
      this.#child = fork(program, {
        execPath: '/bin/sh',
        execArgv: [
          runLimited,
          String(Math.floor(limits.maxDataBytes / 1024)),
          String(renderingPriority),
          process.execPath,
          ...nodeOptions,
        ],
        env: {},
        serialization: 'advanced',
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      })
    return this.#child
  }

  /** Replaces a process that uses much memory: at once, or after it was idle for a while. */
  #limitMemory(residentBytes: number): void {
    const { limits } = this.#options
    if (this.#taskCount >= limits.maxTasks || residentBytes > limits.maxResidentBytes)
      this.#replace()
    else if (residentBytes > limits.maxIdleResidentBytes)
      this.#idleTimer = setTimeout(() => this.#replace(), limits.maxIdleMs).unref()
  }

  /** Kills the process. The next task starts another one. */
  #replace(): void {
    clearTimeout(this.#idleTimer)
    this.#child?.kill('SIGKILL')
    this.#child = undefined
    this.#taskCount = 0
  }
}

function sendTask<Result>(child: ChildProcess, task: object, what: string): Promise<Reply<Result>> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new Error(`The ${what} process cannot be reached.`, { cause })),
    )
    child.once('exit', (code, signal) =>
      reject(new Error(`The ${what} process ended (${code ?? signal}).`)),
    )
    child.once('message', (reply) => resolve(reply as Reply<Result>))
    child.ref()
    child.channel?.ref()
    child.send(task)
  })
}

/** Releases an idle process, so it does not keep the service running. */
function releaseChild(child: ChildProcess): void {
  child.removeAllListeners()
  // Without a listener, an 'error' event would end the service. The event is not logged, because
  // the next task starts another process if this one has ended.
  child.on('error', () => undefined)
  child.unref()
  child.channel?.unref()
}
