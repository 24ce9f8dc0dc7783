// Renders PDFs of quotes, one at a time in a child process (pdf-process-main.ts), and caches them.
import type { Brand } from '../../company/brand.ts'
import type { Language } from '../../company/languages.ts'
import type { OpenLink } from '../links/read-link.ts'
import {
  getLinkCacheKey,
  type RenderedContent,
  RenderingCache,
  type RenderingContext,
} from '../rendering/rendering-cache.ts'
import {
  pdfCacheBytes,
  pdfProcessLimits,
  type RenderingProcessLimits,
} from '../rendering/rendering-limits.ts'
import { RenderingProcess } from '../rendering/rendering-process.ts'
import type { RenderingQueueOptions } from '../rendering/rendering-queue.ts'
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

  /** Tests replace some of the usual limits. Their types explain them. */
  constructor(
    brand: Brand,
    limits: {
      process?: Partial<RenderingProcessLimits>
      queue?: RenderingQueueOptions
      cache?: { cacheBytes?: number; maxWaitMs?: number }
    } = {},
  ) {
    this.#brand = brand
    this.#process = createPdfProcess(limits.process, limits.queue)
    this.#cache = new RenderingCache({
      cacheBytes: pdfCacheBytes,
      getSize: ({ pdf }) => pdf.length,
      ...limits.cache,
    })
  }

  /** Returns whether the PDF failed before and may not be tried again yet. */
  isBlocked(link: OpenLink, language: Language | null): boolean {
    return this.#cache.isBlocked(getCacheKey(link, language))
  }

  /** Returns the PDF of an open link. Throws as RenderingCache.getOrRender does. */
  getOrRender(
    link: OpenLink,
    language: Language | null,
    { readVerifiedDocument, logFailure }: RenderingContext,
  ): Promise<RenderedContent<Pdf>> {
    const { contentHash, quoteStatus: status } = link
    const brand = this.#brand
    const render = async () => {
      const { pdf, fileName } = await this.#process.perform(async () => {
        const documentJson = await readVerifiedDocument()
        return { documentJson, contentHash, status, language, brand }
      })
      return { pdf: Buffer.from(pdf), fileName }
    }
    return this.#cache.getOrRender(getCacheKey(link, language), render, logFailure)
  }

  close(): void {
    this.#process.stop()
  }
}

/** Returns a process that renders PDFs, with the usual limits or these. */
export function createPdfProcess(
  limits: Partial<RenderingProcessLimits> = {},
  queue: RenderingQueueOptions = {},
): RenderingProcess<PdfTask, Pdf> {
  return new RenderingProcess({
    program: new URL('pdf-process-main.ts', import.meta.url),
    contentName: 'PDF',
    limits: { ...pdfProcessLimits, ...limits },
    queue,
  })
}

/** The key contains everything that a PDF depends on, except the brand of the service. */
function getCacheKey(link: OpenLink, language: Language | null): string {
  return `${getLinkCacheKey(link)} ${language}`
}
