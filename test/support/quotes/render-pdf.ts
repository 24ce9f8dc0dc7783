// Renders PDFs of documents that are not in a database.

import type { PdfTask } from '../../../src/quotes/pdf/pdf-process-main.ts'
import type { PdfRenderer } from '../../../src/quotes/pdf/pdf-renderer.ts'
import type { Pdf } from '../../../src/quotes/pdf/typst-compiler.ts'
import { openLink } from './linked-quote.ts'

/** Returns the PDF of a document. */
export async function renderDocument(
  renderer: PdfRenderer,
  quote: Omit<PdfTask, 'brand' | 'timeZone'>,
): Promise<Pdf> {
  const { documentJson, contentHash, status, language } = quote
  const link = { ...openLink, contentHash, quoteStatus: status }
  const { content } = await renderer.getOrRender(link, language, {
    readVerifiedDocument: async () => documentJson,
    logFailure: () => undefined,
  })
  return content
}
