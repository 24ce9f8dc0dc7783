// Formats dates and instants for a language.
import { forEachLanguage, type Language, locales } from '../../company/languages.ts'
import { quoteTexts } from '../quote-texts/quote-texts.ts'

// A local date has no time zone. Reading and formatting it in UTC keeps the day.
const longDates = forEachLanguage(
  (language) => new Intl.DateTimeFormat(locales[language], { dateStyle: 'long', timeZone: 'UTC' }),
)

/** Returns a local date (YYYY-MM-DD) in its long form: "21 de noviembre de 2026". */
export function formatDate(date: string, language: Language): string {
  const text = longDates[language].format(new Date(`${date}T00:00:00Z`))
  const { firstOfMonth } = quoteTexts[language]
  return firstOfMonth === null ? text : text.replace(/^1(?=\s)/, firstOfMonth)
}

/** Returns an RFC 3339 instant as a long date and the time in UTC. */
export function formatInstant(instant: string, language: Language): string {
  const utc = new Date(instant).toISOString()
  return `${formatDate(utc.slice(0, 10), language)}, ${utc.slice(11, 16)} UTC`
}
