// Limits of the PDF renderer: queue, time, memory, cache and recycling of its process.
// The number of lines has no limit of its own: the timeout bounds it (about 5 lines take 1 ms).
import { timeouts } from '../../timeouts.ts'

export type PdfLimits = {
  /** How many PDFs may wait for the one that is being rendered. */
  maxQueued: number
  /** Maximum time to render one PDF. Afterwards the process is killed. */
  timeoutMs: number
  /** The process is replaced after this number of PDFs. */
  maxRendersPerProcess: number
  /** The process is replaced when it holds more memory, because Typst does not free it. */
  maxResidentBytes: number
  /** Size of the cache of rendered PDFs. */
  cacheBytes: number
}

export const pdfLimits: PdfLimits = {
  maxQueued: 30,
  timeoutMs: timeouts.quotes.pdfRendering.ms,
  maxRendersPerProcess: 1_000,
  maxResidentBytes: 400e6,
  cacheBytes: 32e6,
}
