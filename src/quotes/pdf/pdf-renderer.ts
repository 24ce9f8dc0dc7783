// Renders PDFs of quotes, one at a time in a child process (pdf-process-main.ts), and caches them.
import type { Brand } from '../../company/brand.ts'
import type { Language } from '../../company/languages.ts'
import type { OpenLink } from '../links/read-link.ts'
import { getLinkKey, RenderingCache, type RenderingSource } from '../rendering/rendering-cache.ts'
import {
  pdfCacheBytes,
  pdfProcessLimits,
  type RenderingProcessLimits,
} from '../rendering/rendering-limits.ts'
import { RenderingProcess } from '../rendering/rendering-process.ts'
import type { PdfTask } from './pdf-process-main.ts'
import type { Pdf } from './typst-compiler.ts'

/**
 * Renders PDFs in a language, or in that of the quote if the language is null. `close` ends the
 * child process.
 */
export class PdfRenderer {
  readonly #brand: Brand
  readonly #process: RenderingProcess<PdfTask, Pdf>
  readonly #cache: RenderingCache<Pdf>

  /** Tests replace some of the usual limits. RenderingCache explains those of the cache. */
  constructor(
    brand: Brand,
    limits: {
      process?: Partial<RenderingProcessLimits>
      cache?: { cacheBytes?: number; maxQueued?: number; maxWaitMs?: number }
    } = {},
  ) {
    this.#brand = brand
    this.#process = createPdfProcess(limits.process)
    this.#cache = new RenderingCache({
      cacheBytes: pdfCacheBytes,
      getSize: ({ pdf }) => pdf.length,
      ...limits.cache,
    })
  }

  /** Returns a cached PDF, or undefined. */
  getCached(link: OpenLink, language: Language | null): Pdf | undefined {
    return this.#cache.get(getCacheKey(link, language))
  }

  /** Returns whether the PDF failed before and may not be tried again yet. */
  isBlocked(link: OpenLink, language: Language | null): boolean {
    return this.#cache.isBlocked(getCacheKey(link, language))
  }

  /**
   * Renders and caches a PDF. Reads the document when no other PDF is being rendered, so few
   * documents are in memory at the same time. Throws as RenderingCache.render does.
   */
  render(
    link: OpenLink,
    language: Language | null,
    { readDocument, logFailure }: RenderingSource,
  ): Promise<Pdf> {
    const { contentHash, quoteStatus: status } = link
    const render = async () => {
      const documentJson = await readDocument()
      const task = { documentJson, contentHash, status, language, brand: this.#brand }
      const { pdf, fileName } = await this.#process.perform(task)
      return { pdf: Buffer.from(pdf), fileName }
    }
    const key = getCacheKey(link, language)
    return this.#cache.render(key, render, { logFailure, waitsInQueue: true })
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

/** The key contains everything that a PDF depends on, except the brand of the service. */
function getCacheKey(link: OpenLink, language: Language | null): string {
  return `${getLinkKey(link)} ${language}`
}
