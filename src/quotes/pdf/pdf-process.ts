// Starts, kills and replaces the process that renders PDFs (pdf-worker.ts).
import { type ChildProcess, fork } from 'node:child_process'
import pTimeout from 'p-timeout'
import { renderingPriority } from '../rendering/rendering-limits.ts'
import { RendererStoppedError, RenderingRefusedError } from '../rendering/rendering-queue.ts'
import type { PdfLimits } from './pdf-limits.ts'
import type { Pdf, PdfRendering, PdfResult } from './pdf-messages.ts'

/** A process that renders one PDF at a time. The first request starts it. */
export class PdfProcess {
  readonly #limits: PdfLimits
  #child: ChildProcess | undefined
  #renderCount = 0
  #isStopped = false

  constructor(limits: PdfLimits) {
    this.#limits = limits
  }

  /**
   * Returns a PDF. Throws if the process does not answer in time, ends, or cannot allocate more
   * memory, and if Typst fails; then the process is replaced. Throws RenderingRefusedError if no
   * PDF can show the text of the quote.
   */
  async render(request: PdfRendering): Promise<Pdf> {
    if (this.#isStopped) throw new RendererStoppedError('The service is stopping.')
    const { timeoutMs, maxRendersPerProcess, maxResidentBytes } = this.#limits
    const child = this.#startChild()
    try {
      const { pdf, fileName, residentBytes } = await pTimeout(sendRequest(child, request), {
        milliseconds: timeoutMs,
        message: `The PDF took longer than ${timeoutMs} ms.`,
      })
      this.#renderCount += 1
      if (this.#renderCount >= maxRendersPerProcess || residentBytes > maxResidentBytes)
        this.#killChild()
      return { pdf: Buffer.from(pdf), fileName }
    } catch (error) {
      if (error instanceof RenderingRefusedError) throw error
      if (this.#child === child) this.#killChild()
      throw this.#isStopped ? new RendererStoppedError('The service is stopping.') : error
    } finally {
      releaseChild(child)
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#killChild()
  }

  #startChild(): ChildProcess {
    // The process gets no environment: it needs none, and it holds secrets. Its error output is not
    // used: messages of allocators are no log lines, and could contain texts of a quote.
    if (!this.#child?.connected)
      this.#child = fork(new URL('pdf-worker.ts', import.meta.url), {
        ...buildLimitedCommand(this.#limits.maxDataBytes),
        env: {},
        serialization: 'advanced',
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      })
    return this.#child
  }

  #killChild(): void {
    this.#child?.kill('SIGKILL')
    this.#child = undefined
    this.#renderCount = 0
  }
}

/**
 * Returns the command that runs Node with a limit of its memory and at a low priority. A shell sets
 * both and then becomes the process: the process could only lower the priority of one of its
 * threads. Where the system has no limit of memory, only the time is limited.
 */
function buildLimitedCommand(maxDataBytes: number) {
  const script = 'ulimit -d "$1" 2>/dev/null; exec nice -n "$2" "$3" "$4"'
  const kilobytes = String(Math.floor(maxDataBytes / 1024))
  const args = [kilobytes, String(renderingPriority), process.execPath]
  return { execPath: '/bin/sh', execArgv: ['-c', script, 'sh', ...args] }
}

type SuccessfulResult = Exclude<PdfResult, { failure: string }>

function sendRequest(child: ChildProcess, request: PdfRendering): Promise<SuccessfulResult> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new Error('The PDF process cannot be reached.', { cause })),
    )
    child.once('exit', (code, signal) =>
      reject(new Error(`The PDF process ended (${code ?? signal}).`)),
    )
    child.once('message', (result: PdfResult) => {
      if ('failure' in result && result.isRefused) reject(new RenderingRefusedError(result.failure))
      else if ('failure' in result) reject(new Error(`Rendering the PDF failed: ${result.failure}`))
      else resolve(result)
    })
    child.ref()
    child.channel?.ref()
    child.send(request)
  })
}

/** Stops listening to an idle process, so that it does not keep the service running. */
function releaseChild(child: ChildProcess): void {
  child.removeAllListeners()
  // Without a listener, an 'error' event would end the service. It needs no log: the next request
  // starts another process if this one has ended.
  child.on('error', () => undefined)
  child.unref()
  child.channel?.unref()
}
