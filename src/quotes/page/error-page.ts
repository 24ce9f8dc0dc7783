// Renders the HTML page of an error, for example of an unknown, expired or revoked link.
import type { Language } from '../../company/languages.ts'
import { type ErrorPageName, errorPages } from '../failures.ts'
import { quoteTexts } from '../quote-texts/quote-texts.ts'
import { buildSellerContact } from '../view-model/seller-contact.ts'
import { renderTemplate } from './template-loader.ts'

const pages = new Map<string, string>()

/**
 * Returns the complete HTML document of an error. It shows the seller's contact if `seller` is
 * given, and nothing of the quote. A link to the page of the quote keeps the language of ?lang=.
 * Pages are cached, because the service sends many of them under overload.
 */
export function renderErrorPage(
  name: ErrorPageName,
  language: Language,
  seller: { legalName: string; email: string; phone: string } | null,
  requestedLanguage: Language | null = null,
): string {
  const pageLink = `?format=html${requestedLanguage ? `&lang=${requestedLanguage}` : ''}`
  const key = `${name} ${language} ${pageLink} ${seller && JSON.stringify(seller)}`
  const rendered = pages.get(key)
  if (rendered !== undefined) return rendered
  const texts = quoteTexts[language]
  const page = renderTemplate('error', {
    ...texts.errors[name],
    action: errorPages[name].action,
    pageLink,
    texts,
    language,
    contact: seller && buildSellerContact(seller),
  })
  pages.set(key, page)
  return page
}
