// The program of the child process that renders PDFs. A separate process can be killed when it
// takes too long, and its memory is freed when it ends.
import type { Brand } from '../../company/brand.ts'
import { chooseLocale, type Locale } from '../formats.ts'
import { performTasks } from '../rendering/rendering-child.ts'
import type { LinkedQuote, QuoteDocument } from '../schema.ts'
import { compilePdf, type Pdf } from './typst-compiler.ts'

export type PdfTask = {
  documentJson: string
  contentHash: string
  status: LinkedQuote['status']
  /** Null for the language of the document. */
  language: Locale | null
  brand: Brand
  timeZone: string
}

performTasks((task: PdfTask): Pdf => {
  const { documentJson, contentHash, status, language, brand, timeZone } = task
  const document = JSON.parse(documentJson) as QuoteDocument
  const quote = { status, contentHash, link: { expiresAt: null }, document }
  return compilePdf(quote, chooseLocale(language, document), brand, timeZone)
})
