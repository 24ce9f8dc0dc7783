// Renders the HTML page of a quote.
import type { Brand } from '../../company/brand.ts'
import type { Language } from '../../company/languages.ts'
import { languageNames, languages } from '../../company/languages.ts'
import type { LinkedQuote } from '../schema.ts'
import { sumColumnWidths } from '../view-model/line-table.ts'
import { truncatePlainText } from '../view-model/plain-text.ts'
import { buildQuoteViewModel } from '../view-model/quote-view-model.ts'
import { buildReplyLinks } from '../view-model/reply-links.ts'
import { buildBrandStyle, buildLogoUri } from './brand-style.ts'
import { renderTemplate } from './template-loader.ts'
import type { QuotePageValues } from './template-values.ts'

/**
 * The maximum total width of the columns of numbers, in characters of about 9 px. Wider columns
 * would leave too little width for the description in a table of 42rem.
 */
const maxPageNumericColumnsWidth = 42

/** With more lines, which fill over two screens, a page repeats number and total above them. */
const maxLinesWithoutStickySummary = 25

/** The maximum length of the number at the foot of each printed page, in characters. */
const maxPrintFooterNumberLength = 60

/** What is the same for all pages of the service. */
export type PageOptions = {
  brand: Brand
  /** Whether pages have links that start an email to the seller. */
  offersReplies: boolean
}

/** Returns the complete HTML document of a quote. Without `pdfLink` it has no PDF button. */
export function renderQuotePage(
  linkedQuote: LinkedQuote,
  language: Language,
  pdfLink: string | null,
  { brand, offersReplies }: PageOptions,
): string {
  const quote = buildQuoteViewModel(linkedQuote, language)
  const title = `${quote.texts.quote} ${quote.number} · ${quote.seller.legalName}`
  const printedNumber = truncatePlainText(quote.number, maxPrintFooterNumberLength)
  const hasWideNumbers = sumColumnWidths(quote.columns) > maxPageNumericColumnsWidth
  const brandStyle = buildBrandStyle(brand)
  const logo = buildLogoUri(brand)
  const replies = offersReplies ? buildReplyLinks(linkedQuote, quote.gross, language) : []
  const values: QuotePageValues = {
    ...quote,
    title,
    printFooter: `${quote.texts.quote} ${printedNumber}`,
    pdfLink,
    hasWideNumbers,
    hasStickySummary: quote.lines.length > maxLinesWithoutStickySummary,
    languages: listLanguages(language),
    brandStyle,
    logo,
    replies,
  }
  return renderTemplate('quote', values)
}

/** Returns the languages in which the page can be shown. */
function listLanguages(shown: Language) {
  return languages.map((code) => ({ code, name: languageNames[code], isShown: code === shown }))
}
