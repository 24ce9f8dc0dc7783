// Renders PDFs of quotes, one at a time in a child process, and caches them.
import { type Brand, defaultBrand } from '../../company/brand.ts'
import { timeouts } from '../../timeouts.ts'
import { maxQueuedRenderings, pdfCacheBytes } from '../rendering/rendering-limits.ts'
import { type FailureListener, RenderingQueue } from '../rendering/rendering-queue.ts'
import type { Pdf, PdfVariant } from './pdf-messages.ts'
import { PdfProcessClient } from './pdf-process-client.ts'
import { type PdfLimits, pdfLimits } from './pdf-process-limits.ts'

type PdfRendererOptions = Partial<PdfLimits> & {
  maxQueued?: number
  /** How long a request waits at most. */
  maxWaitMs?: number
  cacheBytes?: number
  brand?: Brand
}

/** Renders, queues and caches PDFs. `close` ends the child process. */
export class PdfRenderer {
  readonly #brand: Brand
  readonly #process: PdfProcessClient
  readonly #queue: RenderingQueue<Pdf>

  constructor({
    maxQueued = maxQueuedRenderings,
    cacheBytes = pdfCacheBytes,
    brand = defaultBrand,
    maxWaitMs = timeouts.quotes.renderingWait.ms,
    ...limits
  }: PdfRendererOptions = {}) {
    this.#brand = brand
    this.#process = new PdfProcessClient({ ...pdfLimits, ...limits })
    this.#queue = new RenderingQueue({
      cacheBytes,
      maxQueued,
      maxWaitMs,
      getBytes: ({ pdf }) => pdf.length,
    })
  }

  /** Returns a cached PDF, or undefined. */
  getCached(request: PdfVariant): Pdf | undefined {
    return this.#queue.getCached(getCacheKey(request))
  }

  /**
   * Waits for a PDF that is queued or being rendered. Returns undefined if there is none.
   * Throws RenderingUnavailableError if it failed before.
   */
  findPending(request: PdfVariant): Promise<Pdf | undefined> {
    return this.#queue.findPending(getCacheKey(request))
  }

  /** Returns whether the PDF failed before and may not be tried again yet. */
  hasFailed(request: PdfVariant): boolean {
    return this.#queue.hasFailed(getCacheKey(request))
  }

  /**
   * Returns a PDF. Calls `readDocument` when no other PDF is being rendered, so few documents are
   * in memory at the same time. Concurrent requests for the same PDF share one rendering. Throws
   * RenderingUnavailableError if the queue is full or rendering fails. Calls `onFailure` once if it
   * fails.
   */
  render(
    request: PdfVariant,
    readDocument: () => Promise<string>,
    onFailure?: FailureListener,
  ): Promise<Pdf> {
    const render = async () => {
      const document = await readDocument()
      return this.#process.render({ ...request, document, brand: this.#brand })
    }
    return this.#queue.render(getCacheKey(request), render, onFailure)
  }

  close(): void {
    this.#process.stop()
  }
}

function getCacheKey({ contentHash, status, language }: PdfVariant): string {
  return `${contentHash} ${status} ${language}`
}
