// Names of countries by their ISO 3166-1 code.
import { forEachLanguage, type Language, locales } from '../../company/languages.ts'

const displayNames = forEachLanguage(
  (language) => new Intl.DisplayNames(locales[language], { type: 'region' }),
)

// A cache: a lookup in Intl takes 2 µs, and each line of a quote has a country.
const cachedNames = new Map<string, string>()

/** Returns the name of an ISO 3166-1 alpha-2 code. Returns any other text unchanged. */
export function formatCountry(code: string, language: Language): string {
  if (!/^[A-Z]{2}$/.test(code)) return code
  const key = language + code
  let name = cachedNames.get(key)
  if (name === undefined) {
    name = displayNames[language].of(code) ?? code
    cachedNames.set(key, name)
  }
  return name
}
