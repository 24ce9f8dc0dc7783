// The program of the process that renders PDFs. A separate process can be killed when it takes too
// long, and its memory is freed when it ends.
import { setPriority } from 'node:os'
import type { QuoteDocument } from '../schema.ts'
import type { PdfRequest, PdfResult } from './pdf-messages.ts'
import { compilePdf } from './typst-compiler.ts'

// A lower priority than the process that answers requests.
setPriority(5)

process.on('message', (request: PdfRequest) => {
  process.send?.(handleRequest(request))
})

function handleRequest({ status, contentHash, language, document: json }: PdfRequest): PdfResult {
  try {
    const document = JSON.parse(json) as QuoteDocument
    const pdf = compilePdf(
      { status, contentHash, link: { expiresAt: null }, document },
      language ?? document.language,
    )
    return { ...pdf, residentBytes: process.memoryUsage.rss() }
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}
