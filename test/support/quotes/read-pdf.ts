// Reads the texts of PDFs, and of those of documents that are not in a database.
import { extractText, getDocumentProxy } from 'unpdf'
import { defaultBrand } from '../../../src/company/brand.ts'
import { compilePdf } from '../../../src/quotes/pdf/typst-compiler.ts'
import type { LinkedQuote } from '../../../src/quotes/schema.ts'
import type { Language } from '../../../src/texts/languages.ts'

export async function readPdfPages(pdf: Uint8Array): Promise<string[]> {
  const document = await getDocumentProxy(new Uint8Array(pdf))
  return (await extractText(document, { mergePages: false })).text
}

/** Renders in this process, which is faster than in one of low priority. */
export const renderPdfPages = (quote: LinkedQuote, language: Language = 'es') =>
  readPdfPages(compilePdf(quote, language, defaultBrand).pdf)

/** Removes white space and zero-width spaces, because page and PDF break lines differently. */
export const removeSpace = (text: string) => text.replace(/[\s\u200b]+/g, '')
