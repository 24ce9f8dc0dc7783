// Sends requests to the child process that renders PDFs (pdf-process-main.ts), and replaces it.
import { RenderingProcess } from '../rendering/rendering-process.ts'
import { RenderingRefusedError } from '../rendering/rendering-queue.ts'
import type { Pdf, PdfRendering, PdfResult } from './pdf-messages.ts'
import type { PdfLimits } from './pdf-process-limits.ts'

/** A process that renders one PDF at a time. The first request starts it. */
export class PdfProcessClient {
  readonly #limits: PdfLimits
  readonly #process: RenderingProcess<PdfRendering, PdfResult>
  #renderCount = 0
  #idleTimer: NodeJS.Timeout | undefined

  constructor(limits: PdfLimits) {
    const program = new URL('pdf-process-main.ts', import.meta.url)
    this.#limits = limits
    this.#process = new RenderingProcess({ ...limits, program, what: 'PDF' })
  }

  /**
   * Returns a PDF. Throws RenderingRefusedError if no PDF can show the text of the quote. If Typst
   * fails, or if the process ends or exceeds a limit, replaces the process and throws.
   */
  async render(request: PdfRendering): Promise<Pdf> {
    clearTimeout(this.#idleTimer)
    const result = await this.#process.request(request)
    if ('failure' in result) {
      if (result.isRefused) throw new RenderingRefusedError(result.failure)
      this.#replaceProcess()
      throw new Error(`Rendering the PDF failed: ${result.failure}`)
    }
    const { pdf, fileName, residentBytes } = result
    this.#renderCount += 1
    this.#limitMemory(residentBytes)
    return { pdf: Buffer.from(pdf), fileName }
  }

  stop(): void {
    clearTimeout(this.#idleTimer)
    this.#process.stop()
  }

  #limitMemory(residentBytes: number): void {
    const { maxRendersPerProcess, maxResidentBytes, maxIdleResidentBytes, maxIdleMs } = this.#limits
    if (this.#renderCount >= maxRendersPerProcess || residentBytes > maxResidentBytes)
      this.#replaceProcess()
    else if (residentBytes > maxIdleResidentBytes)
      this.#idleTimer = setTimeout(() => this.#replaceProcess(), maxIdleMs).unref()
  }

  #replaceProcess(): void {
    this.#process.replace()
    this.#renderCount = 0
  }
}
