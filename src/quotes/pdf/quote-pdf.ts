// A quote as PDF, set by typst: the same presentation as the page, handed over as data, so that nothing in it can be run or fetched.
import { readdirSync, readFileSync } from 'node:fs'
import { NodeCompiler } from '@myriaddreamin/typst-ts-node-compiler'
import { plainText } from '../contact-links.ts'
import type { Language } from '../quote-texts.ts'
import { presentQuote } from '../quote-view-model.ts'
import type { SharedQuote } from '../schema.ts'

const fonts = new URL('fonts/', import.meta.url)
const fontBlobs = readdirSync(fonts)
  .filter((name) => name.endsWith('.ttf'))
  .sort()
  .map((name) => readFileSync(new URL(name, fonts)))
const template = readFileSync(new URL('quote-pdf.typ', import.meta.url), 'utf8')
const compiler = NodeCompiler.create({ workspace: import.meta.dirname, fontArgs: [{ fontBlobs }] })

/**
 * Sets a quote in a language, on A4: text that can be selected, its fonts embedded, the same bytes for the same content. Holds up its process
 * for about 1 ms for each 5 lines, and more for the first one.
 */
export function renderPdf(
  shared: SharedQuote,
  language: Language,
): { pdf: Buffer; fileName: string } {
  const quote = presentQuote(shared, language)
  const data = {
    ...quote,
    // About 4.7 pt a character, of the 493 that the paper is wide.
    roomy: quote.columns.reduce((sum, { width }) => sum + width, 0) > 58,
    runningName: shorten(quote.seller.legalName, 60),
    runningNumber: shorten(quote.number, 40),
  }
  try {
    const pdf = compiler.pdf(
      { mainFileContent: template, inputs: { quote: JSON.stringify(data, fitText) } },
      // The date of the quote stands for the moment of creation, so that the bytes depend on nothing but the content.
      { creationTimestamp: Date.parse(`${shared.document.issuedOn}T00:00:00Z`) / 1000 },
    )
    return { pdf, fileName: `${quote.words.quote}-${shorten(quote.number, 64)}.pdf` }
  } finally {
    // What typst remembers of one quote is of no use to the next, and would add up.
    compiler.evictCache(0)
  }
}

/** Typst breaks no word by itself: each place of a very long one becomes a place to break it, by a space without width. */
function fitText(name: string, value: unknown): unknown {
  if (typeof value !== 'string' || name === 'href') return value
  return plainText(value).replace(/[^\s\u00ad\u200b]{16,}/gu, (run) => [...run].join('\u200b'))
}

function shorten(text: string, length: number): string {
  const characters = [...plainText(text).replace(/\s+/g, ' ')]
  return characters.length > length
    ? `${characters.slice(0, length - 1).join('')}…`
    : characters.join('')
}
