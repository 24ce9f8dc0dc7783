// Compiles the PDF of a quote with Typst from pdf-template.typ and the view model. The view model
// is passed as data, so no text of a quote is run as Typst code.
import { readFileSync } from 'node:fs'
import { NodeCompiler, PdfStandard } from '@myriaddreamin/typst-ts-node-compiler'
import type { Brand } from '../../company/brand.ts'
import { type Language, textsByLanguage } from '../../texts/languages.ts'
import { QuoteFailure } from '../failures.ts'
import { type Locale, truncatePlainText } from '../formats.ts'
import type { LinkedQuote } from '../schema.ts'
import { sumColumnWidths } from '../view-model/line-and-total-tables.ts'
import { buildQuoteViewModel } from '../view-model/quote-view-model.ts'
import {
  findUnsupportedCharacters,
  hasDirectionMarks,
  prepareMetadata,
  readFonts,
  serializeForPdf,
} from './pdf-text.ts'

const template = readFileSync(new URL('pdf-template.typ', import.meta.url), 'utf8')
const compiler = NodeCompiler.create({
  workspace: import.meta.dirname,
  fontArgs: [{ fontBlobs: readFonts() }],
})

// How much text fits. The rest of the layout is in pdf-template.typ.
/**
 * The maximum total width of the columns of numbers, in characters. If they are wider, the table
 * has another layout. A character is about 4.7 pt wide, and the text area of the page 493 pt.
 */
const maxPdfNumericColumnsWidth = 58
const maxPdfSellerNameLength = 60
const maxPdfNumberLength = 40

const evictionDelayMs = 20

/** The reason of a failure is cut, because it is logged and could contain much of a quote. */
const maxReasonLength = 200

export type Pdf = { pdf: Buffer; fileName: string }

/**
 * Returns the PDF of a quote on A4, with selectable text and embedded fonts. The same content gives
 * the same bytes. Throws QuoteFailure with the reason `pdf_unsupported` if the fonts lack a
 * character, or would store it wrongly. Blocks the process for about 1 ms per 2 lines, and longer
 * for the first quote.
 */
export function compilePdf(
  linkedQuote: LinkedQuote,
  locale: Locale,
  brand: Brand,
  timeZone = 'UTC',
): Pdf {
  const quote = buildQuoteViewModel(linkedQuote, locale, timeZone)
  const preparedQuote = serializeForPdf({
    ...quote,
    hasWideNumbers: sumColumnWidths(quote.columns) > maxPdfNumericColumnsWidth,
    shortSellerName: truncatePlainText(quote.seller.legalName, maxPdfSellerNameLength),
    shortNumber: truncatePlainText(quote.number, maxPdfNumberLength),
  })
  const metadata = JSON.stringify({
    title: prepareMetadata(`${quote.texts.quote} ${quote.number}`),
    author: prepareMetadata(quote.seller.legalName),
    keywords: quote.contentHash,
  })
  // The creation date of the PDF is the date of the quote, so the bytes depend only on the content.
  const creationTimestamp = getNoon(linkedQuote.document.issuedOn, timeZone) / 1000
  const unsupported = findUnsupportedCharacters(preparedQuote + metadata)
  if (unsupported.length > 0) throw createRefusal(unsupported)
  try {
    const pdf = compiler.pdf(
      {
        mainFileContent: template,
        inputs: {
          quote: preparedQuote,
          metadata,
          hasMarks: String(hasDirectionMarks(preparedQuote)),
          brand: JSON.stringify(describeBrand(brand)),
        },
      },
      { creationTimestamp, pdfStandard: PdfStandard.A_2b },
    )
    return { pdf, fileName: getPdfFileName(quote.number, quote.language) }
  } catch (error) {
    throw withReason(error)
  } finally {
    // Typst caches parts of each quote. No other quote can use them, so they only use memory. After
    // the answer, because freeing those of 1,000 lines takes a tenth of the time.
    setTimeout(() => compiler.evictCache(0), evictionDelayMs).unref()
  }
}

/**
 * Returns noon of a local date as milliseconds since 1970: the same day wherever it is shown near.
 */
function getNoon(date: string, timeZone: string): number {
  const noonInUtc = Date.parse(`${date}T12:00:00Z`)
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    dateStyle: 'short',
    timeStyle: 'medium',
    hourCycle: 'h23',
  })
  const part = Object.fromEntries(
    format.formatToParts(noonInUtc).map(({ type, value }) => [type, Number(value)]),
  )
  const { year = 0, month = 1, day = 1, hour = 12, minute = 0 } = part
  return 2 * noonInUtc - Date.UTC(year, month - 1, day, hour, minute)
}

function createRefusal(characters: string[]): QuoteFailure {
  const codes = characters
    .slice(0, 5)
    .map((character) => `U+${character.codePointAt(0)?.toString(16).toUpperCase()}`)
  const message = `The fonts of the PDF do not support ${codes.join(', ')}.`
  return new QuoteFailure('pdf_unsupported', message)
}

/** Returns an error with the reason as its message. Typst puts the reason into `code` only. */
function withReason(error: unknown): unknown {
  if (!(error instanceof Error) || error.message !== '' || !('code' in error)) return error
  const reason = String(error.code)
    .replace(/^\d+: /, '')
    .slice(0, maxReasonLength)
  return new Error(reason, { cause: error })
}

/** Returns the brand as the template reads it: an SVG as text, a PNG as a list of bytes. */
function describeBrand({ logo, accent }: Brand) {
  const bytes = logo && Buffer.from(logo.data, 'base64')
  return {
    accent: accent?.light ?? null,
    logo: bytes && {
      format: logo.type,
      content: logo.type === 'svg' ? bytes.toString() : [...bytes],
    },
  }
}

const maxNumberLength = 64

/** Returns a name such as "Presupuesto-P-2026-17.pdf". The number may contain any character. */
function getPdfFileName(quoteNumber: string, language: Language): string {
  return `${textsByLanguage[language].quotes.quote}-${truncatePlainText(quoteNumber, maxNumberLength)}.pdf`
}
