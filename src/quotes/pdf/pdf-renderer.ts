// Renders PDFs of quotes, one at a time in a child process (pdf-process-main.ts), and caches them.
import type { Brand } from '../../company/brand.ts'
import type { Locale } from '../formats.ts'
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
import { RenderingProcess, type RenderingQueueOptions } from '../rendering/rendering-process.ts'
import type { QuoteDocument } from '../schema.ts'
import type { PdfTask } from './pdf-process-main.ts'
import type { Pdf } from './typst-compiler.ts'

/**
 * Renders PDFs in a language, or in that of the quote if the language is null. `close` ends the
 * child process.
 */
export class PdfRenderer {
  readonly #brand: Brand
  readonly #timeZone: string
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
    timeZone = 'UTC',
  ) {
    this.#brand = brand
    this.#timeZone = timeZone
    this.#process = createPdfProcess(limits.process, limits.queue)
    this.#cache = new RenderingCache({
      cacheBytes: pdfCacheBytes,
      getSize: ({ pdf }) => pdf.length,
      ...limits.cache,
    })
  }

  isBlocked(link: OpenLink, language: Locale | null): boolean {
    return this.#cache.isBlocked(getCacheKey(link, language))
  }

  getOrRender(
    link: OpenLink,
    language: Locale | null,
    { readVerifiedDocument, logFailure }: RenderingContext,
  ): Promise<RenderedContent<Pdf>> {
    const { contentHash, quoteStatus: status } = link
    const brand = this.#brand
    const timeZone = this.#timeZone
    const render = async () => {
      const { pdf, fileName } = await this.#process.perform(async () => {
        const documentJson = await readVerifiedDocument()
        return { documentJson, contentHash, status, language, brand, timeZone }
      })
      return { pdf: Buffer.from(pdf), fileName }
    }
    return this.#cache.getOrRender(getCacheKey(link, language), render, logFailure)
  }

  close(): void {
    this.#process.stop()
  }
}

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
function getCacheKey(link: OpenLink, language: Locale | null): string {
  return `${getLinkCacheKey(link)} ${language}`
}

const nothing = { amount: '0.00', currency: 'EUR' }

/** The smallest quote. The check needs only the letterhead. */
const emptyQuote: QuoteDocument = {
  number: '1',
  version: 1,
  issuedOn: '2000-01-01',
  validUntil: null,
  language: 'en',
  currency: 'EUR',
  seller: {
    legalName: 'Company',
    taxId: '1',
    address: 'Street',
    email: 'company@example.com',
    phone: '1',
    website: null,
    bank: null,
  },
  buyer: { name: null, taxId: null, address: null, contactName: null },
  lines: [],
  totals: { net: nothing, discounts: nothing, taxes: [], gross: nothing },
  trade: { incoterm: null, delivery: null },
  payment: { terms: null },
  legal: [],
  notes: null,
}

/**
 * Throws an error that says why if no PDF can show the logo. The limits are the same as for PDFs
 * that customers request.
 */
export async function checkLogoInPdf(brand: Brand): Promise<void> {
  if (brand.logo === null) return
  const pdfProcess = createPdfProcess()
  try {
    await pdfProcess.perform(async () => ({
      documentJson: JSON.stringify(emptyQuote),
      contentHash: '0'.repeat(64),
      status: 'sent',
      language: 'en',
      brand,
      timeZone: 'UTC',
    }))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(
      'The company file is not valid:\n  /logo: no PDF can show it, so customers would get none. ' +
        `Save it as a simpler SVG, or as a PNG. The reason: ${reason}`,
      { cause },
    )
  } finally {
    pdfProcess.stop()
  }
}
