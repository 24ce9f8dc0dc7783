// Limits of the PDF renderer: queue, time, memory, cache and recycling of its process.
// The number of lines is limited only by the timeout: about 5 lines take 1 ms.
import { timeouts } from '../../timeouts.ts'
import { pdfCacheBytes } from '../rendering-cache-size.ts'

export type PdfLimits = {
  /** Maximum number of PDFs in the queue, without the one that is being rendered. */
  maxQueued: number
  /** Maximum time to render one PDF. Afterwards the process is killed. */
  timeoutMs: number
  /** The process is replaced after this number of PDFs. */
  maxRendersPerProcess: number
  /** The process is replaced above this memory use, because Typst does not free its memory. */
  maxResidentBytes: number
  /** Maximum size of the cache of rendered PDFs. */
  cacheBytes: number
}

export const pdfLimits: PdfLimits = {
  maxQueued: 30,
  timeoutMs: timeouts.quotes.pdfRendering.ms,
  maxRendersPerProcess: 1_000,
  maxResidentBytes: 400e6,
  cacheBytes: pdfCacheBytes,
}
