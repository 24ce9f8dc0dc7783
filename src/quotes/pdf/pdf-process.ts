// The process that renders PDFs (pdf-worker.ts), and when it is replaced.
import { RenderingProcess } from '../rendering/rendering-process.ts'
import { RenderingRefusedError } from '../rendering/rendering-queue.ts'
import type { PdfLimits } from './pdf-limits.ts'
import type { Pdf, PdfRendering, PdfResult } from './pdf-messages.ts'

/** A process that renders one PDF at a time. The first request starts it. */
export class PdfProcess {
  readonly #limits: PdfLimits
  readonly #process: RenderingProcess<PdfRendering, PdfResult>
  #renderCount = 0

  constructor(limits: PdfLimits) {
    const { timeoutMs, maxDataBytes } = limits
    const program = new URL('pdf-worker.ts', import.meta.url)
    this.#limits = limits
    this.#process = new RenderingProcess({ program, what: 'PDF', timeoutMs, maxDataBytes })
  }

  /**
   * Returns a PDF. Throws if the process does not answer in time, ends, or cannot allocate more
   * memory, and if Typst fails; then the process is replaced. Throws RenderingRefusedError if no
   * PDF can show the text of the quote.
   */
  async render(request: PdfRendering): Promise<Pdf> {
    const result = await this.#process.request(request)
    if ('failure' in result) {
      if (result.isRefused) throw new RenderingRefusedError(result.failure)
      this.#replaceProcess()
      throw new Error(`Rendering the PDF failed: ${result.failure}`)
    }
    const { pdf, fileName, residentBytes } = result
    const { maxRendersPerProcess, maxResidentBytes } = this.#limits
    this.#renderCount += 1
    if (this.#renderCount >= maxRendersPerProcess || residentBytes > maxResidentBytes)
      this.#replaceProcess()
    return { pdf: Buffer.from(pdf), fileName }
  }

  stop(): void {
    this.#process.stop()
  }

  #replaceProcess(): void {
    this.#process.replace()
    this.#renderCount = 0
  }
}
