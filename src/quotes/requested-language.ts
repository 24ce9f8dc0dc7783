// Reads from a request the language of the page, the PDF and the error page.
import type { IncomingHttpHeaders } from 'node:http'
import Negotiator from 'negotiator'
import { isLanguage, type Language, languages } from '../company/languages.ts'
import { readLinkParameter } from './link-parameters.ts'

/**
 * Returns the language of ?lang=, also in capitals or with a region: "EN", "es-MX". Undefined means
 * the language of the quote.
 */
export function getRequestedLanguage(query: unknown): Language | undefined {
  const lang = readLinkParameter(query, 'lang')
  const code = typeof lang === 'string' ? lang.split('-')[0]?.toLowerCase() : undefined
  return isLanguage(code) ? code : undefined
}

/** Returns the language of ?lang=, or else of Accept-Language, or else `fallback`. */
export function chooseErrorPageLanguage(
  { headers, query }: { headers: IncomingHttpHeaders; query: unknown },
  fallback: Language,
): Language {
  const accepted = new Negotiator({ headers }).language(languages) as Language | undefined
  return getRequestedLanguage(query) ?? accepted ?? fallback
}
