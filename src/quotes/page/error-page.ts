// Renders the HTML page of a problem, for example of an unknown, expired or revoked link.
import { type Language, quoteTexts } from '../quote-texts/quote-texts.ts'
import type { ErrorPageCode } from '../quote-texts/quote-texts-type.ts'
import { buildSellerContact } from '../view-model/seller-contact.ts'
import { renderTemplate } from './template-loader.ts'

/** Returns true if quote-texts/ has the texts of an error page for the problem code. */
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
  return renderTemplate('error', {
    ...texts.errors[code],
    texts,
    language,
    contact: seller && buildSellerContact(seller),
  })
}
