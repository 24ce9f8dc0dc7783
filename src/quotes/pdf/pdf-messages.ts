// The messages between the service and the child process that renders PDFs.
import type { Brand } from '../../company/brand.ts'
import type { Language } from '../quote-texts/quote-texts.ts'
import type { SharedQuote } from '../schema.ts'

/** Which PDF of a quote. If `language` is null, it is in the language of the document. */
export type PdfVariant = {
  contentHash: string
  status: SharedQuote['status']
  language: Language | null
}

/** Everything that a PDF depends on. `document` is the frozen canonical JSON. */
export type PdfRequest = PdfVariant & { document: string }

/** A request to the process. The brand is the same for all of its PDFs. */
export type PdfRendering = PdfRequest & { brand: Brand }

export type Pdf = { pdf: Buffer; fileName: string }

/**
 * `residentBytes` is the memory that the process uses after rendering. `isRefused` is true if the
 * quote contains text that no PDF can show.
 */
export type PdfResult = (Pdf & { residentBytes: number }) | { failure: string; isRefused: boolean }
