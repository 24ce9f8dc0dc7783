// The limits of the process that renders PDFs: time, memory, and when it is replaced.
import { timeouts } from '../../timeouts.ts'
import type { RenderingTimeLimits } from '../rendering/rendering-time-limit.ts'

export type PdfLimits = RenderingTimeLimits & {
  /** The process is replaced after this number of PDFs. */
  maxRendersPerProcess: number
  /** The process is replaced if it uses more bytes, because Typst does not free its memory. */
  maxResidentBytes: number
  /** The memory in bytes that the process may allocate. See RenderingProcessOptions. */
  maxDataBytes: number
}

/** A PDF of 2,000 lines takes about 1.4 s and 510 MB. One of 4,000 lines exceeds the memory. */
export const pdfLimits: PdfLimits = {
  maxProcessorMs: timeouts.quotes.pdfRendering.ms,
  maxElapsedMs: timeouts.quotes.starvedRendering.ms,
  maxRendersPerProcess: 1_000,
  maxResidentBytes: 400e6,
  maxDataBytes: 1_300e6,
}
