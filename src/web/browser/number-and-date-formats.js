// Formats amounts, counts, ratios and dates in each language. Amounts are decimal strings and
// stay exact: Intl formats strings without converting them to floating-point numbers.

/** @typedef {{ amount: string, currency: string }} Money */
/** @typedef {ReturnType<typeof createFormats>} Formats */

const noValue = '–'

/**
 * Returns functions that format amounts, counts, ratios and dates.
 * @param {string} locale as src/texts/ defines it for the language of the page
 */
export function createFormats(locale) {
  return { fill, ...numberFormats(locale), ...moneyFormats(locale), ...dateFormats(locale) }
}

/**
 * Returns the text with its {placeholders} replaced. A placeholder without a value stays.
 * @param {string} text
 * @param {Record<string, string>} values
 */
function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (placeholder, name) => values[name] ?? placeholder)
}

/** @param {string} locale */
function numberFormats(locale) {
  const whole = new Intl.NumberFormat(locale, { useGrouping: 'always' })
  const compact = new Intl.NumberFormat(locale, {
    notation: 'compact',
    maximumSignificantDigits: 3,
  })
  const percent = new Intl.NumberFormat(locale, {
    style: 'percent',
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
  })
  const change = new Intl.NumberFormat(locale, {
    style: 'percent',
    maximumFractionDigits: 1,
    signDisplay: 'exceptZero',
    useGrouping: 'always',
  })
  const points = new Intl.NumberFormat(locale, {
    maximumFractionDigits: 1,
    signDisplay: 'exceptZero',
  })
  const oneDecimal = new Intl.NumberFormat(locale, {
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
  })
  const plurals = new Intl.PluralRules(locale)
  /**
   * Returns the text for a count by the plural rules of the language.
   * @param {number} count
   * @param {{ one: string, other: string }} texts
   */
  const choosePlural = (count, texts) => (plurals.select(count) === 'one' ? texts.one : texts.other)
  return {
    choosePlural,
    /**
     * Fills {count} into the text for a count.
     * @param {number} count
     * @param {{ one: string, other: string }} texts
     */
    countText: (count, texts) => fill(choosePlural(count, texts), { count: whole.format(count) }),
    /** @param {number} count */
    count: (count) => whole.format(count),
    /** Abbreviates a number for an axis. @param {number} value */
    compact: (value) => compact.format(value),
    /** @param {string | null} ratio for example "0.5926"; null gives a dash */
    percent: (ratio) => (ratio === null ? noValue : percent.format(exact(ratio))),
    /** @param {string | null} days for example "6.5"; null gives a dash */
    days: (days) => (days === null ? noValue : oneDecimal.format(exact(days))),
    /** Formats a change as a percentage with its sign. @param {string} ratio */
    change: (ratio) => change.format(exact(ratio)),
    /** Formats the difference of two ratios in percentage points. @param {string} difference */
    points: (difference) => points.format(Number(difference) * 100),
  }
}

/** @param {string} locale */
function moneyFormats(locale) {
  /** @type {Map<string, Intl.NumberFormat>} */
  const formats = new Map()
  /**
   * Shows exactly the decimals of the amount, not those that Intl uses for the currency.
   * @param {string} amount
   * @param {Intl.NumberFormatOptions} [style]
   */
  const format = (amount, style = {}) => {
    const digits = amount.split('.')[1]?.length ?? 0
    const key = `${style.currency ?? ''}${digits}`
    const existing = formats.get(key)
    if (existing) return existing.format(exact(amount))
    const created = new Intl.NumberFormat(locale, {
      ...style,
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
      useGrouping: 'always',
    })
    formats.set(key, created)
    return created.format(exact(amount))
  }
  return {
    /** @param {Money} money */
    money: ({ amount, currency }) => format(amount, { style: 'currency', currency }),
    /** Formats the amount without its currency. @param {Money} money */
    amount: ({ amount }) => format(amount),
  }
}

/** @param {string} locale */
function dateFormats(locale) {
  // Days are parsed as midnight in UTC, so they are formatted in UTC too.
  const timeZone = 'UTC'
  const days = new Intl.DateTimeFormat(locale, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone,
  })
  const months = new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric', timeZone })
  const shortMonths = new Intl.DateTimeFormat(locale, { month: 'short', timeZone })
  const times = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' })
  const countries = new Intl.DisplayNames(locale, { type: 'region', fallback: 'code' })
  const ages = new Intl.RelativeTimeFormat(locale, { style: 'short', numeric: 'auto' })
  return {
    /** @param {string} day */
    day: (day) => days.format(startOfDay(day)),
    /** @param {string} from @param {string} to */
    period: (from, to) => days.formatRange(startOfDay(from), startOfDay(to)),
    /** @param {string} month YYYY-MM, or a year */
    month: (month) => (month.length === 4 ? month : months.format(startOfDay(`${month}-01`))),
    /** @param {string} month YYYY-MM, or a year */
    shortMonth: (month) =>
      month.length === 4 ? month : shortMonths.format(startOfDay(`${month}-01`)).replace('.', ''),
    /** Formats the time of day of an instant, for the visitor. @param {number} instant Unix time */
    time: (instant) => times.format(instant),
    /** @param {string} code ISO 3166-1 alpha-2 */
    country: (code) => countries.of(code) ?? code,
    /** Formats an age: "3 minutes ago". @param {number} seconds */
    ago(seconds) {
      if (seconds < 60) return ages.format(-seconds, 'second')
      return seconds < 3_600
        ? ages.format(-Math.floor(seconds / 60), 'minute')
        : ages.format(-Math.floor(seconds / 3_600), 'hour')
    },
  }
}

/** Only changes the type: Intl formats decimal strings exactly. @param {string} decimal */
const exact = (decimal) => /** @type {Intl.StringNumericLiteral} */ (decimal)

/** @param {string} day */
const startOfDay = (day) => new Date(`${day}T00:00:00Z`)
