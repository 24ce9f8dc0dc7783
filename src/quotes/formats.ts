// Formats numbers, money, dates, countries and units for a language, and cleans untrusted text.
import { toLocalDate } from '../company/calendar.ts'
import type { Money } from '../company/money.ts'
import type { QuoteTexts } from '../texts/en.ts'
import { formatExactly } from '../texts/format-exactly.ts'
import { forEachLanguage, isLanguage, type Language, textsByLanguage } from '../texts/languages.ts'

/**
 * A language, or a language in a region. The region decides how numbers and amounts are written:
 * "1.234,50" in es, "1,234.50" in es-MX. Everything else is the same.
 */
export type Locale = Language | `${Language}-${string}`

export function getLanguage(locale: Locale): Language {
  return locale.slice(0, 2) as Language
}

export function getTexts(locale: Locale): QuoteTexts {
  return textsByLanguage[getLanguage(locale)].quotes
}

/** Returns the locale that `Intl` formats numbers in. */
function getNumberLocale(locale: Locale): string {
  return isLanguage(locale) ? textsByLanguage[locale].locale : locale
}

/** Returns a locale that a visitor or a company names, such as es-MX. Null: `Intl` knows none. */
export function parseLocale(text: string): Locale | null {
  const [, language, region] = /^([a-z]{2})(?:-([a-z]{2}|\d{3}))?$/i.exec(text) ?? []
  const code = language?.toLowerCase()
  if (!isLanguage(code)) return null
  if (region === undefined) return code
  const locale: Locale = `${code}-${region.toUpperCase()}`
  return new Intl.NumberFormat(locale).resolvedOptions().locale === locale ? locale : code
}

const americanSpanish = new Set(
  'AR BO CL CO CR CU DO EC GT HN MX NI PA PE PR PY SV US UY VE'.split(' '),
)

/**
 * Returns how a quote is shown: as the visitor asks, or in its own language. Spanish without a
 * region has the numbers of the seller's country, if that is in America.
 */
export function chooseLocale(
  requested: Locale | null,
  { language, seller }: { language: Language; seller: { country?: string | null } },
): Locale {
  const locale = requested ?? language
  const { country } = seller
  return locale === 'es' && country && americanSpanish.has(country) ? `es-${country}` : locale
}

/** Returns decimal text with the separators of a language: "1234.5" as "1.234,5" in Spanish. */
export function formatDecimal(decimal: string, locale: Locale): string {
  return formatExactly(decimal, getNumberLocale(locale))
}

/** Returns whether decimal text is 0, as "0" and "0.00" are. */
export function isZero(decimal: string): boolean {
  return !/[1-9]/.test(decimal)
}

/** Returns an amount with all its decimals: "1.234,50 €" in Spanish, "€1,234.50" in English. */
export function formatMoney({ amount, currency }: Money, locale: Locale): string {
  if (!/^[A-Z]{3}$/.test(currency)) return `${formatDecimal(amount, locale)}\u00a0${currency}`
  // The sign comes first, also where a locale puts it between the currency and the number.
  const [, sign = '', digits = ''] = /^(-?)(.*)$/.exec(amount) ?? []
  return sign + formatExactly(digits, getNumberLocale(locale), { style: 'currency', currency })
}

/** Returns "5.2" as "5,2 %" in Spanish and "5.2%" in English. */
export function formatPercent(decimal: string, locale: Locale): string {
  return formatExactly(decimal, getNumberLocale(locale), { style: 'unit', unit: 'percent' })
}

// A local date has no time zone. Reading and formatting it in UTC keeps the day.
const longDates = forEachLanguage(
  (language) =>
    new Intl.DateTimeFormat(textsByLanguage[language].locale, {
      dateStyle: 'long',
      timeZone: 'UTC',
    }),
)

/** Returns a local date (YYYY-MM-DD) in its long form: "21 de noviembre de 2026". */
export function formatDate(date: string, locale: Locale): string {
  const language = getLanguage(locale)
  const text = longDates[language].format(new Date(`${date}T00:00:00Z`))
  const { firstOfMonth } = textsByLanguage[language].quotes
  return firstOfMonth === null ? text : text.replace(/^1(?=\s)/, firstOfMonth)
}

/** Returns an RFC 3339 instant as a long date and the time in a time zone: "…, 15:05 CET". */
export function formatInstant(instant: string, locale: Locale, timeZone: string): string {
  const date = new Date(instant)
  const time = new Intl.DateTimeFormat(textsByLanguage[getLanguage(locale)].locale, {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  })
  return `${formatDate(toLocalDate(timeZone, date), locale)}, ${time.format(date)}`
}

const displayNames = forEachLanguage(
  (language) => new Intl.DisplayNames(textsByLanguage[language].locale, { type: 'region' }),
)

// A cache: a lookup in Intl takes 2 µs, and each line of a quote has a country.
const cachedNames = new Map<string, string>()

/** Returns the name of an ISO 3166-1 alpha-2 code. Returns any other text unchanged. */
export function formatCountry(code: string, locale: Locale): string {
  if (!/^[A-Z]{2}$/.test(code)) return code
  const language = getLanguage(locale)
  const key = language + code
  let name = cachedNames.get(key)
  if (name === undefined) {
    name = displayNames[language].of(code) ?? code
    cachedNames.set(key, name)
  }
  return name
}

const symbols = new Map(
  Object.entries({
    MGM: 'mg',
    GRM: 'g',
    KGM: 'kg',
    TNE: 't',
    LBR: 'lb',
    ONZ: 'oz',
    MMT: 'mm',
    CMT: 'cm',
    MTR: 'm',
    KMT: 'km',
    INH: 'in',
    FOT: 'ft',
    CMK: 'cm²',
    MTK: 'm²',
    HAR: 'ha',
    MLT: 'ml',
    CLT: 'cl',
    LTR: 'l',
    HLT: 'hl',
    MTQ: 'm³',
    SEC: 's',
    MIN: 'min',
    HUR: 'h',
    KWT: 'kW',
    KWH: 'kWh',
    P1: '%',
  }),
)

const names = new Map<string, keyof QuoteTexts['units']>(
  Object.entries({
    C62: 'piece',
    H87: 'piece',
    EA: 'piece',
    NAR: 'piece',
    PR: 'pair',
    DZN: 'dozen',
    CEN: 'hundred',
    MIL: 'thousand',
    SET: 'set',
    NMP: 'pack',
    XPK: 'pack',
    BX: 'box',
    XBX: 'box',
    XCT: 'carton',
    XBG: 'bag',
    XSA: 'sack',
    XBO: 'bottle',
    XPX: 'pallet',
    XRO: 'roll',
    DAY: 'day',
    E49: 'workingDay',
    WEE: 'week',
    MON: 'month',
    ANN: 'year',
    E48: 'service',
    LS: 'lumpSum',
  }),
)

/**
 * Returns the symbol or name of a unit, singular or plural by its quantity (decimal text).
 * Returns an unknown code unchanged.
 */
export function formatUnit(code: string, quantity: string, locale: Locale): string {
  const language = getLanguage(locale)
  const name = names.get(code)
  const [singular, plural] = name ? textsByLanguage[language].quotes.units[name] : [code, code]
  return symbols.get(code) ?? (isSingular(quantity, language) ? singular : plural)
}

const pluralRules = forEachLanguage(
  (language) => new Intl.PluralRules(textsByLanguage[language].locale),
)

/** In French, 0.5 and 1.5 are singular too. */
function isSingular(quantity: string, language: Language): boolean {
  return pluralRules[language].select(Number(quantity)) === 'one'
}

// C0 and C1 controls except tab and line breaks, and the bidirectional embeddings, overrides and
// isolates (U+202A to U+202E, U+2066 to U+2069). An override can show "cba" for "abc".
//
// These invisible characters stay, because texts in some scripts need them:
// - U+200E, U+200F and U+061C place punctuation in Hebrew and Arabic. Like a letter of these
//   scripts, they order the punctuation and numbers beside them. They cannot order other texts,
//   because the page isolates each text (<bdi>).
// - U+200B to U+200D say where a word may break, and which letters and emoji join.
const controlCharacters =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes controls
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/**
 * Returns a text without these characters. Lone surrogates become U+FFFD. The text is not escaped:
 * the templates do that.
 */
export function toPlainText(text: string): string {
  return text.toWellFormed().replace(controlCharacters, '')
}

/** Returns plain text on one line. Cuts a text of over `maxLength` characters and adds "…". */
export function truncatePlainText(text: string, maxLength: number): string {
  const characters = [...toPlainText(text).replace(/\s+/g, ' ')]
  return characters.length > maxLength
    ? `${characters.slice(0, maxLength - 1).join('')}…`
    : characters.join('')
}
