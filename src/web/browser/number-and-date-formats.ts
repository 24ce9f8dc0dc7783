// Formats amounts, counts, ratios and dates in each language. Amounts are decimal strings and
// stay exact: Intl formats strings without converting them to floating-point numbers.

import { formatExactly } from '../../texts/format-exactly.ts'

export type Money = { amount: string; currency: string }
type Forms = { one: string; other: string }

const noValue = '–'

/**
 * Returns functions that format amounts, counts, ratios and dates. `locale` is that of a language
 * in src/texts/.
 */
export function createFormats(locale: string) {
  return { fill, ...numberFormats(locale), ...dateFormats(locale) }
}

/** Returns the text with its {placeholders} replaced. A placeholder without a value stays. */
function fill(text: string, values: Record<string, string>): string {
  return text.replace(/\{(\w+)\}/g, (placeholder, name) => values[name] ?? placeholder)
}

function numberFormats(locale: string) {
  const number = (options: Intl.NumberFormatOptions) => new Intl.NumberFormat(locale, options)
  const oneDecimal = { minimumFractionDigits: 1, maximumFractionDigits: 1 }
  const whole = number({ useGrouping: 'always' })
  const compact = number({ notation: 'compact', maximumSignificantDigits: 3 })
  const percent = number({ style: 'percent', ...oneDecimal })
  const days = number(oneDecimal)
  const points = number({ maximumFractionDigits: 1, signDisplay: 'exceptZero' })
  const change = number({
    style: 'percent',
    maximumFractionDigits: 1,
    signDisplay: 'exceptZero',
    useGrouping: 'always',
  })
  const plurals = new Intl.PluralRules(locale)
  /** Returns the text for a count by the plural rules of the language. */
  const choosePlural = (count: number, { one, other }: Forms) =>
    plurals.select(count) === 'one' ? one : other
  return {
    choosePlural,
    /** Fills {count} into the text for a count. */
    countText: (count: number, forms: Forms) =>
      fill(choosePlural(count, forms), { count: whole.format(count) }),
    count: (count: number) => whole.format(count),
    money: ({ amount, currency }: Money) =>
      formatExactly(amount, locale, { style: 'currency', currency }),
    /** Formats the amount without its currency. */
    amount: ({ amount }: Money) => formatExactly(amount, locale),
    /** Abbreviates a number for an axis. */
    compact: (value: number) => compact.format(value),
    /** Formats a ratio, for example "0.5926". */
    percent: (ratio: string | null) => (ratio === null ? noValue : percent.format(exact(ratio))),
    /** Formats a number of days, for example "6.5". */
    days: (count: string | null) => (count === null ? noValue : days.format(exact(count))),
    /** Formats a ratio as a percentage with its sign. */
    change: (ratio: string) => change.format(exact(ratio)),
    /** Formats the difference of two ratios in percentage points. */
    points: (difference: string) => points.format(Number(difference) * 100),
  }
}

function dateFormats(locale: string) {
  // Days are parsed as midnight in UTC, so they are formatted in UTC too.
  const date = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' })
  const days = date({ day: 'numeric', month: 'short', year: 'numeric' })
  const months = date({ month: 'long', year: 'numeric' })
  const shortMonths = date({ month: 'short' })
  const times = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' })
  const countries = new Intl.DisplayNames(locale, { type: 'region', fallback: 'code' })
  const ages = new Intl.RelativeTimeFormat(locale, { style: 'short', numeric: 'auto' })
  return {
    day: (day: string) => days.format(startOfDay(day)),
    period: (from: string, to: string) => days.formatRange(startOfDay(from), startOfDay(to)),
    /** Formats a month (YYYY-MM) or a year. */
    month: (month: string) =>
      month.length === 4 ? month : months.format(startOfDay(`${month}-01`)),
    /** Formats a month (YYYY-MM) or a year. */
    shortMonth: (month: string) =>
      month.length === 4 ? month : shortMonths.format(startOfDay(`${month}-01`)).replace('.', ''),
    /** Formats the time of day of an instant, in Unix time, for the visitor. */
    time: (instant: number) => times.format(instant),
    /** Returns the name of a country by its code of ISO 3166-1 alpha-2. */
    country: (code: string) => countries.of(code) ?? code,
    /** Formats an age: "3 minutes ago". */
    ago(seconds: number) {
      if (seconds < 60) return ages.format(-seconds, 'second')
      return seconds < 3_600
        ? ages.format(-Math.floor(seconds / 60), 'minute')
        : ages.format(-Math.floor(seconds / 3_600), 'hour')
    },
  }
}

/** Only changes the type: Intl formats decimal strings exactly. */
const exact = (decimal: string) => decimal as Intl.StringNumericLiteral

const startOfDay = (day: string) => new Date(`${day}T00:00:00Z`)
