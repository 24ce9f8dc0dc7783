// The process that sets PDFs, aside from the one that answers requests: it may take long, be killed, and give its memory back by ending.
import { setPriority } from 'node:os'
import type { QuoteDocument } from '../schema.ts'
import type { PdfOrder, PdfResult } from './pdf-renderer.ts'
import { renderPdf } from './quote-pdf.ts'

// Requests come first.
setPriority(5)

process.on('message', (order: PdfOrder) => {
  process.send?.(answer(order))
})

function answer({ status, contentHash, language, document: json }: PdfOrder): PdfResult {
  try {
    const document = JSON.parse(json) as QuoteDocument
    const pdf = renderPdf(
      { status, contentHash, link: { expiresAt: null }, document },
      language ?? document.language,
    )
    return { ...pdf, residentBytes: process.memoryUsage.rss() }
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}
