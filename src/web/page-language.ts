// Chooses the language of the pages / and /dashboard for a visitor.
import type { IncomingHttpHeaders } from 'node:http'
import Negotiator from 'negotiator'
import { isLanguage, type Language, languages, textsByLanguage } from '../texts/languages.ts'

/**
 * Returns the language of `?lang`, such as pt, EN or pt-BR, else of Accept-Language. Returns
 * undefined if neither names a language that has texts.
 */
export function chooseLanguage(
  query: { lang?: unknown },
  headers: IncomingHttpHeaders,
): Language | undefined {
  const [name = ''] = String(query.lang ?? '')
    .toLowerCase()
    .split('-')
  const requested = isLanguage(name) ? name : undefined
  const accepted = new Negotiator({ headers }).language([...languages])
  return requested ?? (accepted as Language | undefined)
}

/** Returns the links to a page in the other languages, each with its name in that language. */
export function listOtherLanguages(language: Language) {
  return languages
    .filter((other) => other !== language)
    .map((code) => ({ code, name: textsByLanguage[code].name }))
}
