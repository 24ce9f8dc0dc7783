// Starts a child process that renders, limits its time and memory, and replaces it after failures.
// The child runs child-request-loop.ts.
import { type ChildProcess, fork } from 'node:child_process'
import { renderingPriority } from './rendering-limits.ts'
import { RendererStoppedError } from './rendering-queue.ts'
import { type RenderingTimeLimits, watchTimeLimits } from './rendering-time-limit.ts'

export type RenderingProcessOptions = RenderingTimeLimits & {
  /** The file of the program that the process runs. */
  program: URL
  /** What the process renders, such as "PDF", for messages. */
  what: string
  /**
   * The memory in bytes that the process may allocate (RLIMIT_DATA). If it needs more, the kernel
   * refuses and the process ends at once. Node reserves 0.6 to 1.2 GB when it starts, and uses
   * little of that.
   */
  maxDataBytes: number
  nodeOptions?: string[]
}

/** A process that renders one thing at a time. The first request starts it. */
export class RenderingProcess<Request extends object, Result extends object> {
  readonly #options: RenderingProcessOptions
  #child: ChildProcess | undefined
  #isStopped = false

  constructor(options: RenderingProcessOptions) {
    this.#options = options
  }

  /**
   * Returns the result of the process. If the process ends or exceeds a limit, replaces it and
   * throws. Throws RendererStoppedError after `stop`, and RenderingStarvedError if the process
   * hardly ran.
   */
  async request(message: Request): Promise<Result> {
    if (this.#isStopped) throw new RendererStoppedError()
    const { what } = this.#options
    const child = this.#startChild()
    const timeLimits = watchTimeLimits(child.pid, what, this.#options)
    try {
      return await Promise.race([sendRequest<Result>(child, message, what), timeLimits.exceeded])
    } catch (error) {
      if (this.#child === child) this.replace()
      throw this.#isStopped ? new RendererStoppedError() : error
    } finally {
      timeLimits.stop()
      releaseChild(child)
    }
  }

  /** Kills the process. The next request starts another one. */
  replace(): void {
    this.#child?.kill('SIGKILL')
    this.#child = undefined
  }

  stop(): void {
    this.#isStopped = true
    this.replace()
  }

  #startChild(): ChildProcess {
    const { program, maxDataBytes, nodeOptions = [] } = this.#options
    // The process gets an empty environment, because the environment contains secrets. Its error
    // output is discarded, because it is not in the log format and could contain texts of a quote.
    if (!this.#child?.connected)
      this.#child = fork(program, {
        ...buildLimitedCommand(maxDataBytes, nodeOptions),
        env: {},
        serialization: 'advanced',
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      })
    return this.#child
  }
}

/**
 * Returns the command that runs Node with a memory limit and a low priority. A shell sets both and
 * then replaces itself with Node, because a running process can lower the priority of only one of
 * its threads. On systems without memory limits, only the time is limited. Core files are disabled,
 * because they would contain a quote.
 */
function buildLimitedCommand(maxDataBytes: number, nodeOptions: string[]) {
  const script = 'ulimit -c 0 2>/dev/null; ulimit -d "$1" 2>/dev/null; shift; exec nice -n "$@"'
  const kilobytes = String(Math.floor(maxDataBytes / 1024))
  const args = [kilobytes, String(renderingPriority), process.execPath, ...nodeOptions]
  return { execPath: '/bin/sh', execArgv: ['-c', script, 'sh', ...args] }
}

function sendRequest<Result>(child: ChildProcess, message: object, what: string): Promise<Result> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new Error(`The ${what} process cannot be reached.`, { cause })),
    )
    child.once('exit', (code, signal) =>
      reject(new Error(`The ${what} process ended (${code ?? signal}).`)),
    )
    child.once('message', (result) => resolve(result as Result))
    child.ref()
    child.channel?.ref()
    child.send(message)
  })
}

/** Releases an idle process, so it does not keep the service running. */
function releaseChild(child: ChildProcess): void {
  child.removeAllListeners()
  // Without a listener, an 'error' event would end the service. The event is not logged, because
  // the next request starts another process if this one has ended.
  child.on('error', () => undefined)
  child.unref()
  child.channel?.unref()
}
