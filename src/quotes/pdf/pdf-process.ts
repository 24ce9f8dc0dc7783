// Starts, kills and replaces the process that renders PDFs (pdf-worker.ts).
import { type ChildProcess, fork } from 'node:child_process'
import pTimeout from 'p-timeout'
import type { PdfLimits } from './pdf-limits.ts'
import type { Pdf, PdfRequest, PdfResult } from './pdf-messages.ts'

/** A PDF cannot be rendered: the queue is full, rendering takes too long, or the process ended. */
export class PdfUnavailableError extends Error {}

type ProcessLimits = Pick<PdfLimits, 'timeoutMs' | 'maxRendersPerProcess' | 'maxResidentBytes'>

/** A process that renders one PDF at a time. The first request starts it. */
export class PdfProcess {
  readonly #limits: ProcessLimits
  #child: ChildProcess | undefined
  #renderCount = 0
  #isStopped = false

  constructor(limits: ProcessLimits) {
    this.#limits = limits
  }

  /**
   * Returns a PDF. Throws PdfUnavailableError if the process does not answer in time or ends, and
   * Error if Typst fails. After any failure the process is replaced.
   */
  async render(request: PdfRequest): Promise<Pdf> {
    if (this.#isStopped) throw new PdfUnavailableError('The service is stopping.')
    const { timeoutMs, maxRendersPerProcess, maxResidentBytes } = this.#limits
    const child = this.#startChild()
    try {
      const { pdf, fileName, residentBytes } = await pTimeout(sendRequest(child, request), {
        milliseconds: timeoutMs,
        message: new PdfUnavailableError(`The PDF took longer than ${timeoutMs} ms.`),
      })
      this.#renderCount += 1
      if (this.#renderCount >= maxRendersPerProcess || residentBytes > maxResidentBytes)
        this.#killChild()
      return { pdf: Buffer.from(pdf), fileName }
    } catch (error) {
      if (this.#child === child) this.#killChild()
      throw error
    } finally {
      releaseChild(child)
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#killChild()
  }

  #startChild(): ChildProcess {
    // The process gets no arguments and no environment: it needs neither, and they hold secrets.
    if (!this.#child?.connected)
      this.#child = fork(new URL('pdf-worker.ts', import.meta.url), {
        execArgv: [],
        env: {},
        serialization: 'advanced',
      })
    return this.#child
  }

  #killChild(): void {
    this.#child?.kill('SIGKILL')
    this.#child = undefined
    this.#renderCount = 0
  }
}

type SuccessfulResult = Exclude<PdfResult, { failure: string }>

function sendRequest(child: ChildProcess, request: PdfRequest): Promise<SuccessfulResult> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new PdfUnavailableError('The PDF process cannot be reached.', { cause })),
    )
    child.once('exit', (code, signal) =>
      reject(new PdfUnavailableError(`The PDF process ended (${code ?? signal}).`)),
    )
    child.once('message', (result: PdfResult) => {
      if ('failure' in result) reject(new Error(`Rendering the PDF failed: ${result.failure}`))
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
