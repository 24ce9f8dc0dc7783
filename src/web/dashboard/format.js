// Amounts, counts, ratios and days as people of the language write them. Amounts come as decimal text and go to Intl as such, exact at any size.

/** @typedef {'es' | 'en'} Language */
/** @typedef {{ amount: string, currency: string }} Money */
/** @typedef {ReturnType<typeof formats>} Formats */

// British English, as on the page of a quote: its dates and its US$ cannot be mistaken in international trade.
const locales = /** @type {const} */ ({ es: 'es-ES', en: 'en-GB' })

/** @param {string} decimal */
const exact = (decimal) => /** @type {Intl.StringNumericLiteral} */ (decimal)

/** @param {string} day */
const utc = (day) => new Date(`${day}T00:00:00Z`)

/** @param {Language} language */
export function formats(language) {
  const locale = locales[language]
  /** @type {Map<string, Intl.NumberFormat>} */
  const moneyFormats = new Map()
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
  // Plain dates have no time zone: UTC in and UTC out keeps the day that is written.
  const days = new Intl.DateTimeFormat(locale, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  })
  const months = new Intl.DateTimeFormat(locale, {
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  })
  const shortMonths = new Intl.DateTimeFormat(locale, { month: 'short', timeZone: 'UTC' })
  const countries = new Intl.DisplayNames(locale, { type: 'region', fallback: 'code' })
  const ages = new Intl.RelativeTimeFormat(locale, { style: 'narrow', numeric: 'auto' })

  return {
    /**
     * With all its decimals: their number is the service's, whatever Intl holds of the currency.
     * @param {Money} money
     */
    money({ amount, currency }) {
      const digits = amount.split('.')[1]?.length ?? 0
      const key = `${currency}${digits}`
      const format =
        moneyFormats.get(key) ??
        new Intl.NumberFormat(locale, {
          style: 'currency',
          currency,
          minimumFractionDigits: digits,
          maximumFractionDigits: digits,
          useGrouping: 'always',
        })
      moneyFormats.set(key, format)
      return format.format(exact(amount))
    },
    /**
     * The amount alone, where a heading names the currency.
     * @param {Money} money
     */
    amount({ amount }) {
      const digits = amount.split('.')[1]?.length ?? 0
      const key = String(digits)
      const format =
        moneyFormats.get(key) ??
        new Intl.NumberFormat(locale, {
          minimumFractionDigits: digits,
          maximumFractionDigits: digits,
          useGrouping: 'always',
        })
      moneyFormats.set(key, format)
      return format.format(exact(amount))
    },
    /** @param {number} count */
    count: (count) => whole.format(count),
    /**
     * Short, for an axis.
     * @param {number} value
     */
    compact: (value) => compact.format(value),
    /**
     * A ratio such as "0.5926"; a dash for null.
     * @param {string | null} ratio
     */
    percent: (ratio) => (ratio === null ? '–' : percent.format(exact(ratio))),
    /** @param {string} ratio */
    change: (ratio) => change.format(exact(ratio)),
    /**
     * The difference of two ratios in percentage points.
     * @param {string} difference
     */
    points: (difference) => points.format(Number(difference) * 100),
    /** @param {string} day */
    day: (day) => days.format(utc(day)),
    /**
     * @param {string} from
     * @param {string} to
     */
    period: (from, to) => days.formatRange(utc(from), utc(to)),
    /** @param {string} month YYYY-MM, or a year */
    month: (month) => (month.length === 4 ? month : months.format(utc(`${month}-01`))),
    /** @param {string} month YYYY-MM, or a year */
    shortMonth: (month) =>
      month.length === 4 ? month : shortMonths.format(utc(`${month}-01`)).replace('.', ''),
    /** @param {string} code ISO 3166-1 alpha-2 */
    country: (code) => countries.of(code) ?? code,
    /** @param {number} seconds */
    ago(seconds) {
      if (seconds < 60) return ages.format(-seconds, 'second')
      return seconds < 3_600
        ? ages.format(-Math.floor(seconds / 60), 'minute')
        : ages.format(-Math.floor(seconds / 3_600), 'hour')
    },
  }
}
