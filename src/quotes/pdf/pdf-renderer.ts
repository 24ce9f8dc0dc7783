// Renders PDFs of quotes one at a time in a separate process and caches them.
import { type Brand, defaultBrand } from '../../company/brand.ts'
import { timeouts } from '../../timeouts.ts'
import { maxQueuedRenderings, pdfCacheBytes } from '../rendering/rendering-limits.ts'
import { RenderingQueue } from '../rendering/rendering-queue.ts'
import { type PdfLimits, pdfLimits } from './pdf-limits.ts'
import type { Pdf, PdfRequest } from './pdf-messages.ts'
import { PdfProcess } from './pdf-process.ts'

type PdfRendererOptions = Partial<PdfLimits> & {
  maxQueued?: number
  /** The longest wait of a request. */
  maxWaitMs?: number
  cacheBytes?: number
  brand?: Brand
}

/** The cache and the queue of PDFs. `close` ends the rendering process. */
export class PdfRenderer {
  readonly #brand: Brand
  readonly #process: PdfProcess
  readonly #queue: RenderingQueue<Pdf>

  constructor({
    maxQueued = maxQueuedRenderings,
    cacheBytes = pdfCacheBytes,
    brand = defaultBrand,
    maxWaitMs = timeouts.quotes.renderingWait.ms,
    ...limits
  }: PdfRendererOptions = {}) {
    this.#brand = brand
    this.#process = new PdfProcess({ ...pdfLimits, ...limits })
    this.#queue = new RenderingQueue({
      cacheBytes,
      maxQueued,
      maxWaitMs,
      getBytes: ({ pdf }) => pdf.length,
    })
  }

  /** Returns the PDF of a content, status and language, or undefined if it is not cached. */
  getCached(request: Omit<PdfRequest, 'document'>): Pdf | undefined {
    return this.#queue.getCached(getCacheKey(request))
  }

  /**
   * Waits for a PDF that is being rendered. Returns undefined if there is none.
   * Throws RenderingUnavailableError if it failed before.
   */
  findPending(request: Omit<PdfRequest, 'document'>): Promise<Pdf | undefined> {
    return this.#queue.findPending(getCacheKey(request))
  }

  /** Returns whether the PDF failed before and may not be tried again yet. */
  hasFailed(request: Omit<PdfRequest, 'document'>): boolean {
    return this.#queue.hasFailed(getCacheKey(request))
  }

  /**
   * Returns a PDF. `readDocument` is called when no other PDF is rendered, so that few documents
   * are in memory. Concurrent requests for the same PDF share one rendering. Throws
   * RenderingUnavailableError if the queue is full or rendering fails.
   */
  render(request: Omit<PdfRequest, 'document'>, readDocument: () => Promise<string>): Promise<Pdf> {
    return this.#queue.render(getCacheKey(request), async () => {
      const document = await readDocument()
      return this.#process.render({ ...request, document, brand: this.#brand })
    })
  }

  close(): void {
    this.#process.stop()
  }
}

function getCacheKey({ contentHash, status, language }: Omit<PdfRequest, 'document'>): string {
  return `${contentHash} ${status} ${language}`
}
