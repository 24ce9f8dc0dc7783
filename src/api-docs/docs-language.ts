// Chooses the language of the page /docs for a visitor.
import type { IncomingHttpHeaders } from 'node:http'
import Negotiator from 'negotiator'
import { type DocsLanguage, docsLanguages } from './docs-page/docs-page.ts'

/** For visitors who ask for none of the languages of the page. */
const defaultLanguage: DocsLanguage = 'en'

/** Returns the language of `?lang`, else of Accept-Language, else English. */
export function chooseDocsLanguage(
  query: { lang?: unknown },
  headers: IncomingHttpHeaders,
): DocsLanguage {
  const requested = docsLanguages.find((language) => language === query.lang)
  const accepted = new Negotiator({ headers }).language([...docsLanguages])
  return requested ?? (accepted as DocsLanguage | undefined) ?? defaultLanguage
}
