// Formats decimals, amounts of money and percentages for a language.

import { forEachLanguage, type Language, locales } from '../../company/languages.ts'
import type { Money } from '../../company/money.ts'

const separators = forEachLanguage((language) => {
  const parts = new Intl.NumberFormat(locales[language]).formatToParts(1234567.8)
  const find = (type: string) => parts.find((part) => part.type === type)?.value ?? ''
  return { group: find('group'), decimal: find('decimal') }
})

/** The text after the number: "%", or a space and "%". */
const percentSigns = forEachLanguage(
  (language) =>
    new Intl.NumberFormat(locales[language], { style: 'percent' }).format(0).split('0')[1] ?? '%',
)

/**
 * Returns decimal text with the separators of a language: "1234.5" as "1.234,5" in Spanish. It
 * inserts them into the text, because a JavaScript number would round long amounts.
 */
export function formatDecimal(decimal: string, language: Language): string {
  const separator = separators[language]
  const [whole = '', fraction] = decimal.split('.')
  // Matches each position before whole groups of three digits, except the beginning.
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, separator.group)
  return fraction === undefined ? grouped : `${grouped}${separator.decimal}${fraction}`
}

/** Returns whether decimal text is 0, as "0" and "0.00" are. */
export function isZero(decimal: string): boolean {
  return !/[1-9]/.test(decimal)
}

/** Returns an amount with all its decimals: "1.234,50 €" in Spanish, "€1,234.50" in English. */
export function formatMoney({ amount, currency }: Money, language: Language): string {
  const { before, after } = getCurrencySign(currency, language)
  const isNegative = amount.startsWith('-')
  const digits = formatDecimal(isNegative ? amount.slice(1) : amount, language)
  return `${isNegative ? '-' : ''}${before}${digits}${after}`
}

/** Returns "5.2" as "5,2 %" in Spanish and "5.2%" in English. */
export function formatPercent(decimal: string, language: Language): string {
  return formatDecimal(decimal, language) + percentSigns[language]
}

/** The text before and after the digits of an amount. */
type CurrencySign = { before: string; after: string }
const currencySigns = new Map<string, CurrencySign>()

function getCurrencySign(currency: string, language: Language): CurrencySign {
  const key = language + currency
  let sign = currencySigns.get(key)
  if (!sign) {
    if (!/^[A-Z]{3}$/.test(currency)) return { before: '', after: `\u00a0${currency}` }
    sign = createCurrencySign(currency, language)
    currencySigns.set(key, sign)
  }
  return sign
}

function createCurrencySign(currency: string, language: Language): CurrencySign {
  const format = new Intl.NumberFormat(locales[language], {
    style: 'currency',
    currency,
    maximumFractionDigits: 0,
  })
  const [before = '', after = ''] = format.format(1).split('1')
  return { before, after }
}
