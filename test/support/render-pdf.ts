// Renders PDFs of documents that are not in a database.
import type { PdfRenderer, PdfVariant } from '../../src/quotes/pdf/pdf-renderer.ts'
import type { Pdf } from '../../src/quotes/pdf/typst-compiler.ts'

/** Returns the PDF of a document. */
export function renderDocument(
  renderer: PdfRenderer,
  { document, ...wanted }: PdfVariant & { document: string },
): Promise<Pdf> {
  return renderer.render(wanted, async () => document)
}
