// Renders PDFs of documents that are not in a database.
import type { Pdf, PdfRequest } from '../../src/quotes/pdf/pdf-messages.ts'
import type { PdfRenderer } from '../../src/quotes/pdf/pdf-renderer.ts'

/** Returns the PDF of a request with its document. */
export function renderDocument(
  renderer: PdfRenderer,
  { document, ...request }: PdfRequest,
): Promise<Pdf> {
  return renderer.render(request, async () => document)
}
