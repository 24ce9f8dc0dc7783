// Renders PDFs of quotes, one at a time in a child process (pdf-process-main.ts), and caches them.
import type { Brand } from '../../company/brand.ts'
import { timeouts } from '../../timeouts.ts'
import {
  maxQueuedRenderings,
  pdfCacheBytes,
  pdfProcessLimits,
  type RenderingProcessLimits,
} from '../rendering/rendering-limits.ts'
import { RenderingProcess } from '../rendering/rendering-process.ts'
import { type FailureListener, RenderingQueue } from '../rendering/rendering-queue.ts'
import type { PdfTask } from './pdf-process-main.ts'
import type { Pdf } from './typst-compiler.ts'

/** Which PDF of a quote. */
export type PdfVariant = Pick<PdfTask, 'contentHash' | 'status' | 'language'>

type PdfRendererOptions = {
  brand: Brand
  maxQueued?: number
  /** How long a request waits at most. */
  maxWaitMs?: number
  cacheBytes?: number
  /** Replaces some of the usual limits of the process. */
  limits?: Partial<RenderingProcessLimits>
}

/** `close` ends the child process. */
export class PdfRenderer {
  readonly #brand: Brand
  readonly #process: RenderingProcess<PdfTask, Pdf>
  readonly #queue: RenderingQueue<Pdf>

  constructor({
    brand,
    maxQueued = maxQueuedRenderings,
    maxWaitMs = timeouts.quotes.renderingWait.ms,
    cacheBytes = pdfCacheBytes,
    limits = {},
  }: PdfRendererOptions) {
    this.#brand = brand
    this.#process = createPdfProcess(limits)
    this.#queue = new RenderingQueue({
      cacheBytes,
      maxQueued,
      maxWaitMs,
      getBytes: ({ pdf }) => pdf.length,
    })
  }

  /** Returns a cached PDF, or undefined. */
  getCached(wanted: PdfVariant): Pdf | undefined {
    return this.#queue.getCached(getCacheKey(wanted))
  }

  /** Returns whether the PDF failed before and may not be tried again yet. */
  hasFailed(wanted: PdfVariant): boolean {
    return this.#queue.hasFailed(getCacheKey(wanted))
  }

  /**
   * Returns a PDF. Calls `readDocument` when no other PDF is being rendered, so few documents are
   * in memory at the same time. Calls `onFailure` and throws as RenderingQueue.render does.
   */
  render(
    wanted: PdfVariant,
    readDocument: () => Promise<string>,
    onFailure?: FailureListener,
  ): Promise<Pdf> {
    const { contentHash, status, language } = wanted
    const render = async () => {
      const document = await readDocument()
      const task = { document, contentHash, status, language, brand: this.#brand }
      const { pdf, fileName } = await this.#process.perform(task)
      return { pdf: Buffer.from(pdf), fileName }
    }
    return this.#queue.render(getCacheKey(wanted), render, onFailure)
  }

  close(): void {
    this.#process.stop()
  }
}

/** Returns a process that renders PDFs, with the usual limits or these. */
export function createPdfProcess(
  limits: Partial<RenderingProcessLimits> = {},
): RenderingProcess<PdfTask, Pdf> {
  return new RenderingProcess({
    program: new URL('pdf-process-main.ts', import.meta.url),
    what: 'PDF',
    limits: { ...pdfProcessLimits, ...limits },
  })
}

function getCacheKey({ contentHash, status, language }: PdfVariant): string {
  return `${contentHash} ${status} ${language}`
}
