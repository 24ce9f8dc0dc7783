// The languages of quotes and pages. docs/architecture.md names the files of a language. The
// compiler reports every list that lacks a language. scripts/migrate.ts records the languages in
// the database.

/** The languages by their ISO 639-1 codes, with the locale that formats numbers and dates. */
export const locales = {
  es: 'es-ES',
  // British English writes unambiguous dates ("1 March 2026") and "US$" for the US dollar.
  en: 'en-GB',
  pt: 'pt-PT',
  fr: 'fr-FR',
  it: 'it-IT',
  de: 'de-DE',
} as const

export type Language = keyof typeof locales

export const languages = Object.keys(locales) as Language[]

export function isLanguage(value: unknown): value is Language {
  return typeof value === 'string' && Object.hasOwn(locales, value)
}

export function forEachLanguage<Result>(
  create: (language: Language) => Result,
): Record<Language, Result> {
  return Object.fromEntries(languages.map((language) => [language, create(language)])) as Record<
    Language,
    Result
  >
}

export const languageNames: Record<Language, string> = {
  es: 'Español',
  en: 'English',
  pt: 'Português',
  fr: 'Français',
  it: 'Italiano',
  de: 'Deutsch',
}
