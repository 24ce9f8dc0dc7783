// The languages of quotes and pages. A language is a file of texts beside this one, and its import
// and place in the list here. scripts/migrate.ts records the languages in the database.
import * as de from './de.ts'
import * as en from './en.ts'
import * as es from './es.ts'
import * as fr from './fr.ts'
import * as it from './it.ts'
import * as pt from './pt.ts'

/** What the file of a language contains. English defines the fields. */
type Texts = Pick<typeof en, 'quotes' | 'dashboard' | 'home' | 'palette'> & {
  /** It formats numbers and dates. */
  locale: string
  name: string
}

/** The texts by ISO 639-1 code. */
export const textsByLanguage = { es, en, pt, fr, it, de } satisfies Record<string, Texts>

export type Language = keyof typeof textsByLanguage

export const languages = Object.keys(textsByLanguage) as Language[]

export function isLanguage(value: unknown): value is Language {
  return typeof value === 'string' && Object.hasOwn(textsByLanguage, value)
}

export function forEachLanguage<Result>(
  create: (language: Language) => Result,
): Record<Language, Result> {
  return Object.fromEntries(languages.map((language) => [language, create(language)])) as Record<
    Language,
    Result
  >
}
