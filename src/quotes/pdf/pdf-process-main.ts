// The program of the child process that renders PDFs. A separate process can be killed when it
// takes too long, and its memory is freed when it ends.
import { serveRequests } from '../rendering/child-request-loop.ts'
import type { QuoteDocument } from '../schema.ts'
import type { PdfRendering, PdfResult } from './pdf-messages.ts'
import { compilePdf, UnsupportedTextError } from './typst-compiler.ts'

serveRequests(handleRequest)

function handleRequest({
  status,
  contentHash,
  language,
  document: json,
  brand,
}: PdfRendering): PdfResult {
  try {
    const document = JSON.parse(json) as QuoteDocument
    const pdf = compilePdf(
      { status, contentHash, link: { expiresAt: null }, document },
      language ?? document.language,
      brand,
    )
    return { ...pdf, residentBytes: process.memoryUsage.rss() }
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error)
    return { failure, isRefused: error instanceof UnsupportedTextError }
  }
}
