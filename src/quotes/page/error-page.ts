// Renders the HTML page of an error, for example of an unknown, expired or revoked link.
import type { Language } from '../../company/languages.ts'
import { type ErrorPageName, errorPages } from '../failures.ts'
import { quoteTexts } from '../quote-texts/quote-texts.ts'
import { buildSellerContact } from '../view-model/seller-contact.ts'
import { renderTemplate } from './template-loader.ts'

/** Few entries: one for each page, language and ?lang=, with and without the contact. */
const pages = new Map<string, string>()

type ErrorPageOptions = {
  name: ErrorPageName
  language: Language
  /** The language of ?lang=, which the links to the quote keep. */
  requestedLanguage?: Language | null
  /** The seller, if the page shows whom to ask for another link. */
  contact: { legalName: string; email: string; phone: string } | null
}

/**
 * Returns the complete HTML document of an error, which shows nothing of the quote. Pages are
 * cached, because the service sends many of them under overload.
 */
export function renderErrorPage({
  name,
  language,
  requestedLanguage = null,
  contact,
}: ErrorPageOptions): string {
  const lang = requestedLanguage ? `&lang=${requestedLanguage}` : ''
  const key = `${name} ${language} ${lang} ${contact && JSON.stringify(contact)}`
  const rendered = pages.get(key)
  if (rendered !== undefined) return rendered
  const texts = quoteTexts[language]
  const page = renderTemplate('error', {
    ...texts.errors[name],
    action: errorPages[name].action,
    pageLink: `?format=html${lang}`,
    pdfLink: `?format=pdf${lang}`,
    texts,
    language,
    contact: contact && buildSellerContact(contact),
  })
  pages.set(key, page)
  return page
}
