// Renders the HTML page of a problem, for example of an unknown, expired or revoked link.
import type { ProblemCode } from '../../http/problem-details.ts'
import { type Language, quoteTexts } from '../quote-texts/quote-texts.ts'
import type { ErrorPageCode } from '../quote-texts/quote-texts-type.ts'
import { buildSellerContact } from '../view-model/seller-contact.ts'
import { renderTemplate } from './template-loader.ts'

const pages = new Map<string, string>()

/** Error pages of a PDF or a format that cannot be shown. They link to the page of the quote. */
const pagesWithLink: ErrorPageCode[] = ['pdf_refused', 'rendering_unavailable', 'not_acceptable']
/**
 * The page with a link to try again. It does not reload by itself, because that would interrupt a
 * screen reader (WCAG 2.2.1).
 */
const pageToTryAgain: ErrorPageCode = 'rendering_pending'

/** Returns the error page for a problem code. Codes without a page share `invalid_parameter`. */
export function chooseErrorPage(code: ProblemCode): ErrorPageCode {
  return Object.hasOwn(quoteTexts.es.errors, code) ? (code as ErrorPageCode) : 'invalid_parameter'
}

/**
 * Returns the complete HTML document of an error. It shows the seller's contact if `seller` is
 * given, and nothing of the quote. A link to the page of the quote keeps the language of ?lang=.
 * Pages are cached, because the service sends many of them under overload.
 */
export function renderErrorPage(
  code: ErrorPageCode,
  language: Language,
  seller: { legalName: string; email: string; phone: string } | null,
  requestedLanguage?: Language,
): string {
  const pageLink = `?format=html${requestedLanguage ? `&lang=${requestedLanguage}` : ''}`
  const key = `${code} ${language} ${pageLink} ${seller && JSON.stringify(seller)}`
  const rendered = pages.get(key)
  if (rendered !== undefined) return rendered
  const texts = quoteTexts[language]
  const page = renderTemplate('error', {
    ...texts.errors[code],
    canTryAgain: code === pageToTryAgain,
    pageLink: pagesWithLink.includes(code) ? pageLink : null,
    texts,
    language,
    contact: seller && buildSellerContact(seller),
  })
  pages.set(key, page)
  return page
}
