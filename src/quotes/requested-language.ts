// Reads from a request the language of the page, the PDF and the error page.
import type { IncomingHttpHeaders } from 'node:http'
import Negotiator from 'negotiator'
import { isLanguage, type Language, languages } from '../company/languages.ts'
import { readLinkParameter } from './choose-representation.ts'

/**
 * Returns the language of ?lang=, which may have capitals or a region: "EN", "es-MX". Returns
 * undefined if the quote should be in its own language.
 */
export function getRequestedLanguage(query: unknown): Language | undefined {
  const lang = readLinkParameter(query, 'lang')
  const code = typeof lang === 'string' ? lang.split('-')[0]?.toLowerCase() : undefined
  return isLanguage(code) ? code : undefined
}

/**
 * Returns the language of ?lang=. Without it, returns the one that Accept-Language prefers, or
 * `fallback` if it prefers none.
 */
export function chooseErrorPageLanguage(
  { headers, query }: { headers: IncomingHttpHeaders; query: unknown },
  fallback: Language,
): Language {
  // If the visitor accepts several equally, the negotiator takes the first one that is offered.
  const offered = [fallback, ...languages.filter((language) => language !== fallback)]
  const accepted = new Negotiator({ headers }).language(offered) as Language | undefined
  return getRequestedLanguage(query) ?? accepted ?? fallback
}
