// Chooses the language of the pages / and /dashboard for a visitor.
import type { IncomingHttpHeaders } from 'node:http'
import Negotiator from 'negotiator'

export const languages = ['es', 'en'] as const
export type Language = (typeof languages)[number]

/** Returns the language of `?lang`, else of Accept-Language; undefined if neither is available. */
export function chooseLanguage(
  query: { lang?: unknown },
  headers: IncomingHttpHeaders,
): Language | undefined {
  const requested = languages.find((language) => language === query.lang)
  const accepted = new Negotiator({ headers }).language([...languages])
  return requested ?? (accepted as Language | undefined)
}

/** Returns the language, or English if the pages do not have it. */
export function toPageLanguage(language: string): Language {
  return languages.find((known) => known === language) ?? 'en'
}
