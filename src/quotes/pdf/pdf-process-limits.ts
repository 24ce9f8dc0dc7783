// The limits of the process that renders PDFs: time, memory, and when it is replaced.
import { timeouts } from '../../timeouts.ts'
import type { RenderingTimeLimits } from '../rendering/rendering-time-limit.ts'

export type PdfLimits = RenderingTimeLimits & {
  /** The process is replaced after this number of PDFs. */
  maxRendersPerProcess: number
  /** The process is replaced if it uses more bytes, because Typst does not free its memory. */
  maxResidentBytes: number
  /**
   * A process that uses more bytes is replaced after it was idle for `maxIdleMs`. Until then the
   * next large PDF uses its memory again. Ending a process of this size and starting another one
   * for each PDF would delay other requests by some milliseconds, about ten times for each PDF.
   */
  maxIdleResidentBytes: number
  maxIdleMs: number
  /** The memory in bytes that the process may allocate. See RenderingProcessOptions. */
  maxDataBytes: number
}

/**
 * A PDF of 2,000 lines takes about 1.4 s and 510 MB. After many of them the process uses up to
 * 640 MB. A PDF of 4,000 lines exceeds the memory.
 */
export const pdfLimits: PdfLimits = {
  maxProcessorMs: timeouts.quotes.pdfRendering.ms,
  maxElapsedMs: timeouts.quotes.starvedRendering.ms,
  maxRendersPerProcess: 1_000,
  maxResidentBytes: 660e6,
  maxIdleResidentBytes: 400e6,
  maxIdleMs: timeouts.quotes.idlePdfProcess.ms,
  maxDataBytes: 1_300e6,
}
