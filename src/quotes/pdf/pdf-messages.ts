// The messages between the service and the process that renders PDFs.
import type { Brand } from '../../company/brand.ts'
import type { Language } from '../quote-texts/quote-texts.ts'
import type { SharedQuote } from '../schema.ts'

/**
 * Everything that a PDF depends on. `document` is the frozen canonical JSON. If `language` is null,
 * the PDF is in the language of the document.
 */
export type PdfRequest = {
  document: string
  contentHash: string
  status: SharedQuote['status']
  language: Language | null
}

/** What the rendering process needs. The brand is the same for all PDFs of a process. */
export type PdfRendering = PdfRequest & { brand: Brand }

export type Pdf = { pdf: Buffer; fileName: string }

/**
 * `residentBytes` is the memory of the process after rendering. `isRefused` is true if the quote
 * contains text that no PDF can show.
 */
export type PdfResult = (Pdf & { residentBytes: number }) | { failure: string; isRefused: boolean }
