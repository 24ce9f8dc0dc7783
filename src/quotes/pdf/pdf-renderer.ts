// Renders PDFs of quotes one at a time in a separate process and caches them.
import pLimit from 'p-limit'
import { createRenderingCache, type RenderingCache } from '../rendering-cache-size.ts'
import { type PdfLimits, pdfLimits } from './pdf-limits.ts'
import type { Pdf, PdfRequest } from './pdf-messages.ts'
import { PdfProcess, PdfUnavailableError } from './pdf-process.ts'

/** The cache and the queue of PDFs. `close` ends the rendering process. */
export class PdfRenderer {
  readonly #maxQueued: number
  readonly #cache: RenderingCache<Pdf>
  readonly #process: PdfProcess
  readonly #runAlone = pLimit(1)
  readonly #pending = new Map<string, Promise<Pdf>>()

  constructor(limits: Partial<PdfLimits> = {}) {
    const allLimits = { ...pdfLimits, ...limits }
    this.#maxQueued = allLimits.maxQueued
    this.#cache = createRenderingCache(allLimits.cacheBytes, ({ pdf }) => pdf.length)
    this.#process = new PdfProcess(allLimits)
  }

  /** Returns the PDF of a content, status and language, or undefined if it is not cached. */
  getCached(request: Omit<PdfRequest, 'document'>): Pdf | undefined {
    return this.#cache.get(getCacheKey(request))
  }

  /**
   * Returns a PDF. Concurrent requests for the same PDF share one rendering.
   * Throws PdfUnavailableError if the queue is full or rendering fails.
   */
  async render(request: PdfRequest): Promise<Pdf> {
    const key = getCacheKey(request)
    const available = this.#cache.get(key) ?? this.#pending.get(key)
    if (available) return available
    // One of the pending PDFs is being rendered, the others are queued.
    if (this.#pending.size > this.#maxQueued)
      throw new PdfUnavailableError('Too many PDFs are queued.')
    const rendering = this.#runAlone(() => this.#process.render(request))
    this.#pending.set(key, rendering)
    try {
      const pdf = await rendering
      this.#cache.set(key, pdf)
      return pdf
    } finally {
      this.#pending.delete(key)
    }
  }

  close(): void {
    this.#process.stop()
  }
}

function getCacheKey({ contentHash, status, language }: Omit<PdfRequest, 'document'>): string {
  return `${contentHash} ${status} ${language}`
}
