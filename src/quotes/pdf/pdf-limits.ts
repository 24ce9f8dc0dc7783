// Limits of the process that renders PDFs: time, memory and recycling.
import { timeouts } from '../../timeouts.ts'

export type PdfLimits = {
  /** Maximum time to render one PDF. Afterwards the process is killed. */
  timeoutMs: number
  /** The process is replaced after this number of PDFs. */
  maxRendersPerProcess: number
  /** The process is replaced above this memory use, because Typst does not free its memory. */
  maxResidentBytes: number
  /** The memory that the process may allocate. See RenderingProcessOptions. */
  maxDataBytes: number
}

/** About 2,000 lines take 1.4 s and 510 MB. At 4,000 lines the process reaches its limit. */
export const pdfLimits: PdfLimits = {
  timeoutMs: timeouts.quotes.pdfRendering.ms,
  maxRendersPerProcess: 1_000,
  maxResidentBytes: 400e6,
  maxDataBytes: 1_300e6,
}
