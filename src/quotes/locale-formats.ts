// Amounts, percentages, dates, countries and bank accounts as people of a language write them.
import { electronicFormatIBAN, friendlyFormatIBAN, isValidIBAN } from 'ibantools'
import type { Money } from '../company/money.ts'
import type { Language } from './quote-texts.ts'

// British English, since its dates and its US$ cannot be mistaken in international trade.
const locales = { es: 'es-ES', en: 'en-GB' } as const
const separators = { es: { group: '.', decimal: ',' }, en: { group: ',', decimal: '.' } } as const

/** Decimal text ("1234.5") with the separators of the language ("1.234,5"): digit by digit, so it is exact at any size. */
export function formatDecimal(decimal: string, language: Language): string {
  const { group, decimal: point } = separators[language]
  const [whole = '', fraction] = decimal.split('.')
  const grouped = whole.length > 3 ? whole.replace(/\B(?=(\d{3})+$)/g, group) : whole
  return fraction === undefined ? grouped : `${grouped}${point}${fraction}`
}

const currencySigns = new Map<string, { before: string; after: string }>()

/** An amount with all its decimals and its currency where the language puts it: "1.234,50 €", "€1,234.50". */
export function formatMoney({ amount, currency }: Money, language: Language): string {
  const { before, after } = currencySign(currency, language)
  const negative = amount.startsWith('-')
  return `${negative ? '-' : ''}${before}${formatDecimal(negative ? amount.slice(1) : amount, language)}${after}`
}

function currencySign(currency: string, language: Language): { before: string; after: string } {
  const known = currencySigns.get(language + currency)
  if (known) return known
  if (!/^[A-Z]{3}$/.test(currency)) return { before: '', after: `\u00a0${currency}` }
  const format = new Intl.NumberFormat(locales[language], {
    style: 'currency',
    currency,
    maximumFractionDigits: 0,
  })
  const [before = '', after = ''] = format.format(1).split('1')
  currencySigns.set(language + currency, { before, after })
  return { before, after }
}

/** "5.2" as "5,2 %" or "5.2%". */
export function formatPercent(decimal: string, language: Language): string {
  return `${formatDecimal(decimal, language)}${language === 'es' ? '\u00a0%' : '%'}`
}

// Plain dates have no time zone: UTC in and UTC out keeps the day that is written.
const longDates = {
  es: new Intl.DateTimeFormat(locales.es, { dateStyle: 'long', timeZone: 'UTC' }),
  en: new Intl.DateTimeFormat(locales.en, { dateStyle: 'long', timeZone: 'UTC' }),
}

/** A local date (YYYY-MM-DD) in long form: "21 de noviembre de 2026". */
export function formatDate(date: string, language: Language): string {
  return longDates[language].format(new Date(`${date}T00:00:00Z`))
}

/** An RFC 3339 instant as a long date and the time in UTC. */
export function formatInstant(instant: string, language: Language): string {
  const utc = new Date(instant).toISOString()
  return `${formatDate(utc.slice(0, 10), language)}, ${utc.slice(11, 16)} UTC`
}

const countryNames = {
  es: new Intl.DisplayNames(locales.es, { type: 'region' }),
  en: new Intl.DisplayNames(locales.en, { type: 'region' }),
}

// Looking one up takes 2 µs, and a quote has one for each line.
const countries = new Map<string, string>()

/** The name of an ISO 3166-1 alpha-2 code; what is no such code stays as it is. */
export function formatCountry(code: string, language: Language): string {
  if (!/^[A-Z]{2}$/.test(code)) return code
  const known = countries.get(language + code)
  if (known !== undefined) return known
  const name = countryNames[language].of(code) ?? code
  countries.set(language + code, name)
  return name
}

/** An IBAN in groups of four where its length and check digits (mod 97) are right; else as it stands, and not valid. */
export function formatIban(iban: string): { text: string; valid: boolean } {
  const electronic = electronicFormatIBAN(iban) ?? ''
  const valid = isValidIBAN(electronic)
  return { text: valid ? (friendlyFormatIBAN(electronic) ?? iban) : iban, valid }
}
