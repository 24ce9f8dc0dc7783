// The page behind a quote link, and the one of a link that cannot be opened.
import { Eta } from 'eta'
import { standalonePage } from '../../http/html-page.ts'
import { plainText } from '../contact-links.ts'
import { type Language, type Notice, wording } from '../quote-texts.ts'
import { presentContact, presentQuote } from '../quote-view-model.ts'
import type { SharedQuote } from '../schema.ts'

const escapeHtml = new Eta().config.escapeFunction
const { render, contentSecurityPolicy } = standalonePage(import.meta.url, {
  templates: { page: 'layout.eta', quote: 'quote-page.eta', notice: 'error-page.eta' },
  style: 'quote-page.css',
  escapeFunction: (value) => escapeHtml(plainText(String(value))),
  rmWhitespace: true,
})

/** Value of Content-Security-Policy for both pages. */
export const pageContentSecurityPolicy = contentSecurityPolicy

/** The whole HTML document of a quote. Without a link to a PDF there is no button for it. */
export function renderQuotePage(
  shared: SharedQuote,
  language: Language,
  links: { pdf: string | null; json: string },
): string {
  const quote = presentQuote(shared, language)
  const title = `${quote.words.quote} ${quote.number} · ${quote.seller.legalName}`
  // The numbers (about 9 px a character) would leave too little of a 42rem table to the description.
  const roomy = quote.columns.reduce((sum, { width }) => sum + width, 0) > 42
  return render('quote', { ...quote, title, links, roomy })
}

/** The page of a link that cannot be opened; with the seller's contact where one is given, and nothing of any quote. */
export function renderNoticePage(
  notice: Notice,
  language: Language,
  seller: { legalName: string; email: string; phone: string } | null,
): string {
  const words = wording[language]
  return render('notice', {
    ...words.notices[notice],
    words,
    language,
    contact: seller && presentContact(seller),
  })
}
