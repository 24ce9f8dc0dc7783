// Renders the HTML page of a quote and the error page of a link that cannot be opened.
import { Eta } from 'eta'
import { createPageRenderer } from '../../http/html-page.ts'
import { type Language, quoteTexts } from '../quote-texts/quote-texts.ts'
import type { ErrorPageCode } from '../quote-texts/quote-texts-type.ts'
import type { SharedQuote } from '../schema.ts'
import { sumColumnWidths } from '../view-model/line-table.ts'
import { toPlainText } from '../view-model/plain-text.ts'
import { buildQuoteViewModel } from '../view-model/quote-view-model.ts'
import { buildSellerContact } from '../view-model/seller-contact.ts'

// A character is about 9 px wide. Wider numbers would leave too little of a table of 42rem to the
// description.
const maxNumberCharacters = 42

const escapeHtml = new Eta().config.escapeFunction
const { render, contentSecurityPolicy } = createPageRenderer(import.meta.url, {
  templates: {
    page: 'page-layout.eta',
    quote: 'quote-page.eta',
    error: 'error-page.eta',
    contactLink: 'contact-link.eta',
  },
  style: 'quote-page.css',
  escapeFunction: (value) => escapeHtml(toPlainText(String(value))),
  rmWhitespace: true,
})

/** The value of Content-Security-Policy for both pages. */
export const pageContentSecurityPolicy = contentSecurityPolicy

/** Returns the complete HTML document of a quote. The button for the PDF needs a link to it. */
export function renderQuotePage(
  shared: SharedQuote,
  language: Language,
  links: { pdf: string | null; json: string },
): string {
  const quote = buildQuoteViewModel(shared, language)
  const title = `${quote.texts.quote} ${quote.number} · ${quote.seller.legalName}`
  const hasWideNumbers = sumColumnWidths(quote.columns) > maxNumberCharacters
  return render('quote', { ...quote, title, links, hasWideNumbers })
}

export function hasErrorPage(code: string): code is ErrorPageCode {
  return Object.hasOwn(quoteTexts.es.errors, code)
}

/**
 * Returns the complete HTML document of an error. It shows the seller's contact if `seller` is
 * given, and nothing of the quote.
 */
export function renderErrorPage(
  code: ErrorPageCode,
  language: Language,
  seller: { legalName: string; email: string; phone: string } | null,
): string {
  const texts = quoteTexts[language]
  return render('error', {
    ...texts.errors[code],
    texts,
    language,
    contact: seller && buildSellerContact(seller),
  })
}
