// The messages between the service and the child process that renders PDFs.
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

/** A request to the process. The brand is the same for all of its PDFs. */
export type PdfRendering = PdfRequest & { brand: Brand }

export type Pdf = { pdf: Buffer; fileName: string }

/**
 * `residentBytes` is the memory that the process uses after rendering. `isRefused` is true if the
 * quote contains text that no PDF can show.
 */
export type PdfResult = (Pdf & { residentBytes: number }) | { failure: string; isRefused: boolean }
