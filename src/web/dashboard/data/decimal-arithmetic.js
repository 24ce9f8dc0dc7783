// Calculates exact sums, differences and ratios of decimal strings.

/**
 * Returns the sum, with as many decimals as the most precise summand.
 * @param {string[]} decimals
 */
export function sum(decimals) {
  const digits = Math.max(0, ...decimals.map(countDigits))
  const total = decimals.reduce((total, decimal) => total + scale(decimal, digits), 0n)
  return formatScaled(total, digits)
}

/** Returns `a` minus `b`. @param {string} a @param {string} b */
export function subtract(a, b) {
  const digits = Math.max(countDigits(a), countDigits(b))
  return formatScaled(scale(a, digits) - scale(b, digits), digits)
}

const ratioDigits = 4

/**
 * Returns `part` divided by `whole` with four decimals, rounded half away from zero, or null if
 * `whole` is zero. `whole` must not be negative.
 * @param {string} part
 * @param {string} whole
 */
export function ratio(part, whole) {
  const digits = Math.max(countDigits(part), countDigits(whole))
  const divisor = scale(whole, digits)
  if (divisor === 0n) return null
  const dividend = scale(part, digits + ratioDigits)
  const half = dividend < 0n ? -divisor : divisor
  return formatScaled((2n * dividend + half) / (2n * divisor), ratioDigits)
}

/** @param {string} decimal */
const countDigits = (decimal) => decimal.split('.')[1]?.length ?? 0

/**
 * Returns the decimal times 10 to the power of `digits`.
 * @param {string} decimal
 * @param {number} digits
 */
function scale(decimal, digits) {
  const [whole = '', fraction = ''] = decimal.split('.')
  return BigInt(whole + fraction.padEnd(digits, '0'))
}

/** @param {bigint} value @param {number} digits */
function formatScaled(value, digits) {
  const sign = value < 0n ? '-' : ''
  const text = String(value < 0n ? -value : value).padStart(digits + 1, '0')
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`
}
