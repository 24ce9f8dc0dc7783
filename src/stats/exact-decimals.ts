// Exact addition, subtraction and division of decimal texts. PostgreSQL cuts the result of a
// numeric division to about 16 digits, so rounding that result again could round twice.

/**
 * Returns `dividend / divisor` rounded to `digits` decimals, halves away from zero.
 * Returns null if the divisor is zero.
 */
export function divide(
  dividend: string | number,
  divisor: string | number,
  digits: number,
): string | null {
  const [dividendUnits, dividendDigits] = parseDecimal(dividend)
  const [divisorUnits, divisorDigits] = parseDecimal(divisor)
  if (divisorUnits === 0n) return null
  const numerator = dividendUnits * 10n ** BigInt(digits + divisorDigits)
  const denominator = divisorUnits * 10n ** BigInt(dividendDigits)
  const isNegative = numerator < 0n !== denominator < 0n
  const [n, d] = [absolute(numerator), absolute(denominator)]
  const quotient = (2n * n + d) / (2n * d)
  return `${isNegative && quotient > 0n ? '-' : ''}${formatDecimal(quotient, digits)}`
}

/** Returns the exact sum, with as many decimals as the more precise number has. */
export function add(a: string | number, b: string | number): string {
  const [aUnits, aDigits] = parseDecimal(a)
  const [bUnits, bDigits] = parseDecimal(b)
  const digits = Math.max(aDigits, bDigits)
  const sum = aUnits * 10n ** BigInt(digits - aDigits) + bUnits * 10n ** BigInt(digits - bDigits)
  return `${sum < 0n ? '-' : ''}${formatDecimal(absolute(sum), digits)}`
}

/** Returns the exact difference, with as many decimals as the more precise number has. */
export function subtract(a: string | number, b: string | number): string {
  return add(a, String(b).startsWith('-') ? String(b).slice(1) : `-${b}`)
}

const absolute = (value: bigint) => (value < 0n ? -value : value)

function parseDecimal(number: string | number): [units: bigint, digits: number] {
  const [whole = '', fraction = ''] = String(number).split('.')
  return [BigInt(whole + fraction), fraction.length]
}

function formatDecimal(units: bigint, digits: number): string {
  const text = units.toString().padStart(digits + 1, '0')
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`
}
