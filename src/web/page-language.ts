// Chooses the language of the pages / and /dashboard for a visitor.
import type { IncomingHttpHeaders } from 'node:http'
import Negotiator from 'negotiator'
import { type Language, languages } from '../company/languages.ts'

/** The languages of the home page, which is for developers. */
export const homeLanguages = ['es', 'en'] as const
export type HomeLanguage = (typeof homeLanguages)[number]

/**
 * Returns the language of `?lang`, else of Accept-Language, among those of a page. Undefined if
 * neither is available.
 */
export function chooseLanguage<Available extends Language>(
  available: readonly Available[],
  query: { lang?: unknown },
  headers: IncomingHttpHeaders,
): Available | undefined {
  const requested = available.find((language) => language === query.lang)
  const accepted = new Negotiator({ headers }).language([...available])
  return requested ?? (accepted as Available | undefined)
}

/** Returns the links to a page in the other languages, each with its name in that language. */
export function listOtherLanguages(language: Language) {
  return languages
    .filter((other) => other !== language)
    .map((code) => ({ code, name: nameOf(code) }))
}

function nameOf(code: Language): string {
  const name = new Intl.DisplayNames(code, { type: 'language' }).of(code) ?? code
  return name.charAt(0).toLocaleUpperCase(code) + name.slice(1)
}
