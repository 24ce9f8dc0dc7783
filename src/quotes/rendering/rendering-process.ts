// The process that renders PDFs and large pages (rendering-main.ts). It is started on demand, has a
// low priority and limits of time and memory, and is replaced after failures.
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pTimeout from 'p-timeout'
import { QuoteFailure } from '../failures.ts'
import type { Rendering, Reply, Task } from './rendering-main.ts'

/** What the process adds to the nice value of the service, so that requests come first. */
export const renderingNiceIncrement = 10

/** At the first two limits, the kernel ends the process or gives it no more memory. */
export const renderingLimits = {
  /**
   * The processor time of a process, over all its renderings (RLIMIT_CPU). A PDF of 2,000 lines
   * takes 1.4 s. Elapsed time would also count the time in which a busy machine did not run it.
   */
  processorMs: 40_000,
  /** A process that has used so much is replaced, so each rendering has at least the rest. */
  replacedAfterMs: 20_000,
  /**
   * The memory that it may allocate (RLIMIT_DATA). Node reserves 0.6 to 1.2 GB when it starts, and
   * uses little of that. Twenty pages of 8,000 lines bring it to 1.5 GB, and a PDF of 2,000 lines
   * takes .5 GB, which Typst keeps.
   */
  memoryBytes: 2_000e6,
  /**
   * For a process that does not run: beside twenty busy processes on two cores it gets about a
   * hundredth of a core.
   */
  elapsedMs: 300_000,
  /**
   * The next large PDF uses the memory again. Freeing and allocating so much for each PDF would
   * cost the kernel 300 ms instead of 20 ms, and delay other requests.
   */
  idleMs: 10_000,
  idleMemoryBytes: 400e6,
}

const shell = '/bin/sh'
const program = new URL('rendering-main.ts', import.meta.url)

/** Performs one task at a time. The first task starts the process. */
export class RenderingProcess {
  readonly #limits: typeof renderingLimits
  #child: ChildProcess | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #isStopped = false

  /** Tests replace some of the limits. */
  constructor(limits: Partial<typeof renderingLimits> = {}) {
    this.#limits = { ...renderingLimits, ...limits }
  }

  /**
   * Throws the QuoteFailure that the task threw, or one with the reason `process_unreachable` or,
   * after `stop`, `stopping`. Replaces the process and throws an error if rendering fails in
   * another way, or if the process ends or exceeds a limit.
   */
  async perform(task: Task): Promise<Rendering> {
    clearTimeout(this.#idleTimer)
    const reply = await this.#getReply(task)
    const { processorMs, residentBytes } = reply.usage
    if (processorMs > this.#limits.replacedAfterMs) this.#kill()
    else if (residentBytes > this.#limits.idleMemoryBytes)
      this.#idleTimer = setTimeout(() => this.#kill(), this.#limits.idleMs).unref()
    if ('rendering' in reply) return reply.rendering
    const { reason, message, stack } = reply
    // The log shows where in the child process the error was thrown.
    const cause = Object.assign(new Error(message), { stack })
    if (reason !== 'rendering_failed') throw new QuoteFailure(reason, message, { cause })
    this.#kill()
    throw new Error(`Rendering failed: ${message}`, { cause })
  }

  /** Kills the process. Its task and all later ones fail with the reason `stopping`. */
  stop(): void {
    this.#isStopped = true
    this.#kill()
  }

  async #getReply(task: Task): Promise<Reply> {
    if (this.#isStopped) throw new QuoteFailure('stopping', 'The service is stopping.')
    const child = this.#startChild()
    try {
      const milliseconds = this.#limits.elapsedMs
      // Not caused by the document: one that takes long uses up the processor time first.
      const message = new QuoteFailure(
        'process_unreachable',
        `The rendering process hardly ran within ${milliseconds} ms.`,
      )
      return await pTimeout(this.#send(child, task), { milliseconds, message })
    } catch (error) {
      this.#kill()
      throw this.#isStopped ? new QuoteFailure('stopping', 'The service is stopping.') : error
    } finally {
      // An idle process must not keep the service running.
      child.unref()
      child.channel?.unref()
    }
  }

  #startChild(): ChildProcess {
    if (this.#child?.connected) return this.#child
    try {
      // fork opens the channel for messages.
      this.#child = fork(program, {
        execPath: shell,
        execArgv: this.#listShellArguments(),
        // Empty, because the environment contains secrets. Without PATH, sh finds nice in its
        // default path.
        env: {},
        serialization: 'advanced',
        // Its error output is discarded, because it is not in the log format and could contain
        // texts of a quote.
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      })
    } catch (cause) {
      throw createUnreachableFailure(cause)
    }
    // Without a listener, an 'error' event of an idle process would end the service. Such an event
    // is not logged, because the next task starts another process if this one has ended.
    return this.#child.on('error', () => undefined)
  }

  #listShellArguments(): string[] {
    const { processorMs, memoryBytes } = this.#limits
    return [
      join(import.meta.dirname, 'run-limited.sh'),
      String(Math.ceil(processorMs / 1000)),
      String(Math.floor(memoryBytes / 1024)),
      String(renderingNiceIncrement),
      process.execPath,
      '--max-old-space-size=256',
      // V8 would collect garbage and compile in further threads, which would use a second core.
      '--single-threaded',
    ]
  }

  /** Sends a task to the process and returns its reply. Rejects if the process ends before that. */
  #send(child: ChildProcess, task: Task): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    const rejectUnreachable = (cause: unknown) => reject(createUnreachableFailure(cause))
    const rejectEnded = (code: number | null, signal: string | null) =>
      reject(new Error(`The rendering process ended (${this.#describeEnd(code, signal)}).`))
    const accept = (reply: unknown) => resolve(reply as Reply)
    child.on('error', rejectUnreachable).on('exit', rejectEnded).on('message', accept)
    child.ref()
    child.channel?.ref()
    try {
      child.send(task)
    } catch (cause) {
      // A process that could not be started has no channel.
      rejectUnreachable(cause)
    }
    return promise.finally(() => {
      child.off('error', rejectUnreachable).off('exit', rejectEnded).off('message', accept)
    })
  }

  /** Returns why the process ended, for the log. Its own error output was discarded. */
  #describeEnd(code: number | null, signal: string | null): string {
    if (signal === 'SIGXCPU') return 'too much processor time'
    // Node ends itself in one of these ways if it gets no more memory.
    if (signal === 'SIGABRT' || signal === 'SIGTRAP') return `${signal}, perhaps too much memory`
    if (signal !== null) return signal
    // Without a channel for messages, the program ends as soon as it has started.
    const command = [shell, ...this.#listShellArguments(), fileURLToPath(program)]
    return `status ${code}; to see whether it starts, run: env -i ${command.join(' ')}`
  }

  #kill(): void {
    clearTimeout(this.#idleTimer)
    this.#child?.kill('SIGKILL')
    this.#child = undefined
  }
}

function createUnreachableFailure(cause: unknown): QuoteFailure {
  const message = 'The rendering process cannot be reached.'
  return new QuoteFailure('process_unreachable', message, { cause })
}
