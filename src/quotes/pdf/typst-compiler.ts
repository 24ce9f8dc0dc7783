// Renders a quote as a PDF with Typst. The template gets the view model as data, so no text of a
// quote is run as Typst code.
import { readdirSync, readFileSync } from 'node:fs'
import { NodeCompiler } from '@myriaddreamin/typst-ts-node-compiler'
import type { Language } from '../quote-texts/quote-texts.ts'
import type { SharedQuote } from '../schema.ts'
import { sumColumnWidths } from '../view-model/line-table.ts'
import { toPlainText, truncatePlainText } from '../view-model/plain-text.ts'
import { buildQuoteViewModel } from '../view-model/quote-view-model.ts'
import { getPdfFileName } from './pdf-file-name.ts'
import type { Pdf } from './pdf-messages.ts'

// A character is about 4.7 pt wide, and the text area of the page 493 pt.
const maxNumberCharacters = 58
const maxRunningNameLength = 60
const maxRunningNumberLength = 40

const fonts = new URL('fonts/', import.meta.url)
const fontBlobs = readdirSync(fonts)
  .filter((name) => name.endsWith('.ttf'))
  .sort()
  .map((name) => readFileSync(new URL(name, fonts)))
const template = readFileSync(new URL('pdf-template.typ', import.meta.url), 'utf8')
const compiler = NodeCompiler.create({ workspace: import.meta.dirname, fontArgs: [{ fontBlobs }] })

/**
 * Renders a quote on A4 with selectable text and embedded fonts. The same content gives the same
 * bytes. Blocks the process for about 1 ms for each 5 lines, and longer for the first quote.
 */
export function compilePdf(shared: SharedQuote, language: Language): Pdf {
  const quote = buildQuoteViewModel(shared, language)
  const data = {
    ...quote,
    hasWideNumbers: sumColumnWidths(quote.columns) > maxNumberCharacters,
    runningName: truncatePlainText(quote.seller.legalName, maxRunningNameLength),
    runningNumber: truncatePlainText(quote.number, maxRunningNumberLength),
  }
  // The date of the quote is the creation date of the PDF, so the bytes depend only on the content.
  const creationTimestamp = Date.parse(`${shared.document.issuedOn}T00:00:00Z`) / 1000
  try {
    const pdf = compiler.pdf(
      { mainFileContent: template, inputs: { quote: JSON.stringify(data, prepareText) } },
      { creationTimestamp },
    )
    return { pdf, fileName: getPdfFileName(quote.number, language) }
  } finally {
    // Typst caches parts of each quote. The next quote cannot use them, and they would add up.
    compiler.evictCache(0)
  }
}

/**
 * Cleans the texts of the data and allows a break at each place of a very long word, with a
 * zero-width space. Typst does not break such a word by itself.
 */
function prepareText(name: string, value: unknown): unknown {
  if (typeof value !== 'string' || name === 'href') return value
  return toPlainText(value).replace(/[^\s\u00ad\u200b]{16,}/gu, (word) => [...word].join('\u200b'))
}
