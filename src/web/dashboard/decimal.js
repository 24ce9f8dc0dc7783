// Exact sums of decimal text. A number is made of an amount only where a length is drawn.

/**
 * @param {string} decimal
 * @param {number} digits
 */
function scaled(decimal, digits) {
  const [whole = '', fraction = ''] = decimal.split('.')
  return BigInt(whole + fraction.padEnd(digits, '0'))
}

/** @param {string} decimal */
const digitsOf = (decimal) => decimal.split('.')[1]?.length ?? 0

/**
 * @param {bigint} value
 * @param {number} digits
 */
function text(value, digits) {
  const sign = value < 0n ? '-' : ''
  const all = String(value < 0n ? -value : value).padStart(digits + 1, '0')
  return digits === 0 ? sign + all : `${sign}${all.slice(0, -digits)}.${all.slice(-digits)}`
}

/**
 * The sum, with as many decimals as the longest of them.
 * @param {string[]} decimals
 */
export function sum(decimals) {
  const digits = Math.max(0, ...decimals.map(digitsOf))
  return text(
    decimals.reduce((total, decimal) => total + scaled(decimal, digits), 0n),
    digits,
  )
}

/**
 * @param {string} a
 * @param {string} b
 */
export function subtract(a, b) {
  const digits = Math.max(digitsOf(a), digitsOf(b))
  return text(scaled(a, digits) - scaled(b, digits), digits)
}
