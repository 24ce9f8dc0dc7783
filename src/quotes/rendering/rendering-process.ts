// A child process that renders. RenderingProcess starts it on demand, limits its time and memory,
// and replaces it after failures. rendering-child.ts is the code in the child process.
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pLimit from 'p-limit'
import pTimeout from 'p-timeout'
import { QuoteFailure } from '../failures.ts'
import type { Reply, Usage } from './rendering-child.ts'
import {
  maxQueuedRenderings,
  type RenderingProcessLimits,
  renderingNiceIncrement,
} from './rendering-limits.ts'

const shell = '/bin/sh'
/** Its arguments are SECONDS KILOBYTES NICE COMMAND. */
const runLimited = join(import.meta.dirname, 'run-limited.sh')

type RenderingProcessOptions = {
  program: URL
  /** What the process renders, such as "PDF", for messages. */
  contentName: string
  limits: RenderingProcessLimits
  queue?: RenderingQueueOptions
  nodeOptions?: string[]
}

/** A process that performs one task at a time. The first task starts it. */
export class RenderingProcess<Task extends object, Result> {
  readonly #options: RenderingProcessOptions
  readonly #stopping = new AbortController()
  readonly #queue: RenderingQueue
  #child: ChildProcess | undefined
  #idleTimer: NodeJS.Timeout | undefined

  constructor(options: RenderingProcessOptions) {
    this.#options = options
    this.#queue = new RenderingQueue(this.#stopping.signal, options.queue)
  }

  /**
   * Returns the result of a task. Calls `prepareTask` when the tasks before it have ended, so few
   * documents are in memory at the same time.
   *
   * Throws the QuoteFailure that the task threw, or one with the reason `queue_full`, `starved`,
   * `process_unreachable` or, after `stop`, `stopping`. Replaces the process and throws an error if
   * rendering fails in another way, or if the process ends or exceeds a limit.
   */
  perform(prepareTask: () => Promise<Task>): Promise<Result> {
    return this.#queue.run(async () => this.#performNow(await prepareTask()))
  }

  /** Kills the process. Its task and all others fail with the reason `stopping`. */
  stop(): void {
    this.#stopping.abort(new QuoteFailure('stopping', 'The service is stopping.'))
    this.#kill()
  }

  async #performNow(task: Task): Promise<Result> {
    clearTimeout(this.#idleTimer)
    const reply = await this.#getReply(task)
    this.#applyReplacementLimits(reply.usage)
    if ('result' in reply) return reply.result
    const { reason, message, stack } = reply
    // The log shows where in the child process the error was thrown.
    const cause = Object.assign(new Error(message), { stack })
    if (reason !== 'rendering_failed') throw new QuoteFailure(reason, message, { cause })
    this.#kill()
    throw new Error(`Rendering the ${this.#options.contentName} failed: ${message}`, { cause })
  }

  async #getReply(task: Task): Promise<Reply<Result>> {
    this.#stopping.signal.throwIfAborted()
    const { contentName, limits } = this.#options
    const child = this.#startChild()
    try {
      return await pTimeout(sendTask<Result>(child, task, this.#options), {
        milliseconds: limits.maxElapsedMs,
        // Not caused by the document: a document that takes long uses up the processor time first.
        message: new QuoteFailure(
          'starved',
          `The ${contentName} process hardly ran within ${limits.maxElapsedMs} ms.`,
        ),
      })
    } catch (error) {
      this.#stopping.signal.throwIfAborted()
      this.#kill()
      throw error
    } finally {
      // An idle process must not keep the service running.
      child.unref()
      child.channel?.unref()
    }
  }

  #startChild(): ChildProcess {
    if (this.#child?.connected) return this.#child
    const options: ForkOptions = {
      // The process is started by fork, and not by spawn, because fork opens the channel for
      // messages.
      execPath: shell,
      execArgv: listShellArguments(this.#options),
      // Empty, because the environment contains secrets. Without PATH, sh finds nice in its default
      // path.
      env: {},
      serialization: 'advanced',
      // Its error output is discarded, because it is not in the log format and could contain texts
      // of a quote.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    }
    try {
      this.#child = fork(this.#options.program, options)
    } catch (cause) {
      throw createUnreachableFailure(this.#options.contentName, cause)
    }
    // Without a listener, an 'error' event of an idle process would end the service. Such an event
    // is not logged, because the next task starts another process if this one has ended.
    this.#child.on('error', () => undefined)
    return this.#child
  }

  /** Kills the process if it is above `replaceAbove`, and later if above `replaceIdleAbove`. */
  #applyReplacementLimits({ processorMs, residentBytes }: Usage): void {
    const { replaceAbove, replaceIdleAbove } = this.#options.limits
    if (
      processorMs > replaceAbove.processorMs ||
      residentBytes > (replaceAbove.residentBytes ?? Infinity)
    )
      this.#kill()
    else if (replaceIdleAbove && residentBytes > replaceIdleAbove.residentBytes)
      this.#idleTimer = setTimeout(() => this.#kill(), replaceIdleAbove.idleMs).unref()
  }

  #kill(): void {
    clearTimeout(this.#idleTimer)
    this.#child?.kill('SIGKILL')
    this.#child = undefined
  }
}

function listShellArguments({ limits, nodeOptions = [] }: RenderingProcessOptions): string[] {
  return [
    runLimited,
    String(Math.ceil(limits.maxProcessorMs / 1000)),
    String(Math.floor(limits.maxDataBytes / 1024)),
    String(renderingNiceIncrement),
    process.execPath,
    ...nodeOptions,
  ]
}

/** Sends a task to the process and returns its reply. Rejects if the process ends before that. */
function sendTask<Result>(
  child: ChildProcess,
  task: object,
  options: RenderingProcessOptions,
): Promise<Reply<Result>> {
  const { contentName } = options
  const { promise, resolve, reject } = Promise.withResolvers<Reply<Result>>()
  const rejectUnreachable = (cause: unknown) => reject(createUnreachableFailure(contentName, cause))
  const rejectEnded = (code: number | null, signal: string | null) =>
    reject(new Error(`The ${contentName} process ended (${describeEnd(code, signal, options)}).`))
  const acceptReply = (reply: unknown) => resolve(reply as Reply<Result>)
  child.on('error', rejectUnreachable).on('exit', rejectEnded).on('message', acceptReply)
  child.ref()
  child.channel?.ref()
  try {
    child.send(task)
  } catch (cause) {
    // A process that could not be started has no channel.
    rejectUnreachable(cause)
  }
  return promise.finally(() => {
    child.off('error', rejectUnreachable).off('exit', rejectEnded).off('message', acceptReply)
  })
}

/** Returns why the process ended, for the log. Its own error output was discarded. */
function describeEnd(
  code: number | null,
  signal: string | null,
  options: RenderingProcessOptions,
): string {
  if (signal === 'SIGXCPU') return 'too much processor time'
  // Node ends itself in one of these ways if it gets no more memory.
  if (signal === 'SIGABRT' || signal === 'SIGTRAP') return `${signal}, perhaps too much memory`
  if (signal !== null) return signal
  // Without a channel for messages, the program ends as soon as it has started.
  const command = [shell, ...listShellArguments(options), fileURLToPath(options.program)]
  return `status ${code}; to see whether it starts, run: env -i ${command.join(' ')}`
}

function createUnreachableFailure(contentName: string, cause: unknown): QuoteFailure {
  const message = `The ${contentName} process cannot be reached.`
  return new QuoteFailure('process_unreachable', message, { cause })
}

export type RenderingQueueOptions = {
  /** Not counting the rendering that runs. */
  maxQueued?: number
  /**
   * The longest pause between two renderings. A pause is five times as long as the rendering before
   * it, so a busy queue leaves most of the time to other requests. Default: no pause.
   */
  maxPauseMs?: number
  /** Returns the time in milliseconds. Tests replace it. */
  now?: () => number
  /** Makes a pause, which ends early if the signal aborts. Tests replace it. */
  pause?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

/** The length of the pause after a rendering, as a multiple of the rendering's duration. */
const pauseFactor = 5

export class RenderingQueue {
  readonly #runAlone = pLimit(1)
  readonly #signal: AbortSignal
  readonly #maxQueued: number
  readonly #maxPauseMs: number
  readonly #now: () => number
  readonly #pause: (ms: number, signal: AbortSignal) => Promise<unknown>
  /** When the next rendering may start, in the time of `now`. */
  #pausedUntil = 0

  /** Once `signal` is aborted, all renderings that have not started fail with its reason. */
  constructor(
    signal: AbortSignal,
    {
      maxQueued = maxQueuedRenderings,
      maxPauseMs = 0,
      now = () => performance.now(),
      pause = pauseUntilAborted,
    }: RenderingQueueOptions = {},
  ) {
    this.#signal = signal
    this.#maxQueued = maxQueued
    this.#maxPauseMs = maxPauseMs
    this.#now = now
    this.#pause = pause
  }

  /** Runs a rendering after those that were queued before. Throws QuoteFailure `queue_full`. */
  async run<Result>(render: () => Promise<Result>): Promise<Result> {
    // One of these renderings runs. It is not in the queue.
    const { activeCount, pendingCount } = this.#runAlone
    if (activeCount + pendingCount > this.#maxQueued)
      throw new QuoteFailure('queue_full', 'Too many renderings are queued.')
    return this.#runAlone(async () => {
      const pauseMs = this.#pausedUntil - this.#now()
      if (pauseMs > 0) await this.#pause(pauseMs, this.#signal)
      this.#signal.throwIfAborted()
      const startedAt = this.#now()
      try {
        return await render()
      } finally {
        const endedAt = this.#now()
        const maxPauseMs = this.#maxPauseMs
        this.#pausedUntil = endedAt + Math.min(pauseFactor * (endedAt - startedAt), maxPauseMs)
      }
    })
  }
}

function pauseUntilAborted(ms: number, signal: AbortSignal): Promise<unknown> {
  return sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
}
