// Formats the price of a product, with its unit.

/** @import { Hit } from '../palette.d.ts' */

/** Symbols of UN/ECE unit codes. Other units are not shown. @type {Record<string, string>} */
const unitSymbols = { KGM: 'kg', GRM: 'g', MTR: 'm', MTK: 'm²', MTQ: 'm³', LTR: 'l' }

/**
 * Returns the price with exactly the decimals of the response, or '' if there is no price.
 * @param {Hit} hit
 * @param {string} language
 */
export function formatPrice({ price, unit }, language) {
  if (!price) return ''
  const symbol = unit && unitSymbols[unit]
  return formatAmount(price, language) + (symbol ? ` / ${symbol}` : '')
}

/** @param {NonNullable<Hit['price']>} price @param {string} language */
function formatAmount({ amount, currency }, language) {
  const digits = amount.split('.')[1]?.length ?? 0
  try {
    const format = new Intl.NumberFormat(language, {
      style: 'currency',
      currency,
      // With a decimal string, Intl shows no more digits than it has.
      minimumFractionDigits: digits,
    })
    // Intl formats a decimal string exactly.
    return format.format(/** @type {`${number}`} */ (amount))
  } catch {
    // The `lang` attribute is no valid language tag.
    return `${amount} ${currency}`
  }
}
