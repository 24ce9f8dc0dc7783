// Starts, kills and replaces the process that renders PDFs (pdf-worker.ts).
import { type ChildProcess, fork } from 'node:child_process'
import pTimeout from 'p-timeout'
import type { PdfLimits } from './pdf-limits.ts'
import type { Pdf, PdfRequest, PdfResult } from './pdf-messages.ts'

/** No PDF can be made now: the queue is full, rendering takes too long, or the process ended. */
export class PdfUnavailableError extends Error {}

type ProcessLimits = Pick<PdfLimits, 'timeoutMs' | 'maxRendersPerProcess' | 'maxResidentBytes'>

/** A process that renders one PDF at a time. It starts with the first request. */
export class PdfProcess {
  readonly #limits: ProcessLimits
  #child: ChildProcess | undefined
  #renderCount = 0
  #isStopped = false

  constructor(limits: ProcessLimits) {
    this.#limits = limits
  }

  /**
   * Throws PdfUnavailableError if the process cannot answer in time, and Error if Typst fails.
   * After any failure the process is replaced.
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
    // Without our arguments and environment: the process needs neither, and they hold secrets.
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

/** Lets the service exit while the idle process is connected. */
function releaseChild(child: ChildProcess): void {
  child.removeAllListeners()
  // An 'error' event without a listener would end the service.
  child.on('error', () => undefined)
  child.unref()
  child.channel?.unref()
}
