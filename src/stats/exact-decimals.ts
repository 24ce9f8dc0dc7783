// Exact division of decimal texts. PostgreSQL's numeric division is cut to some 16 digits first, so that rounding its result rounds twice.

/** `dividend / divisor` with `digits` decimals, rounded half up (halves away from zero); null when the divisor is zero. */
export function divide(
  dividend: string | number,
  divisor: string | number,
  digits: number,
): string | null {
  const [above, aboveDigits] = parse(dividend)
  const [below, belowDigits] = parse(divisor)
  if (below === 0n) return null
  const numerator = above * 10n ** BigInt(digits + belowDigits)
  const denominator = below * 10n ** BigInt(aboveDigits)
  const negative = numerator < 0n !== denominator < 0n
  const [n, d] = [magnitude(numerator), magnitude(denominator)]
  const quotient = (2n * n + d) / (2n * d)
  return `${negative && quotient > 0n ? '-' : ''}${decimal(quotient, digits)}`
}

/** `a - b` of decimal texts, exactly. */
export function subtract(a: string | number, b: string | number): string {
  const [left, leftDigits] = parse(a)
  const [right, rightDigits] = parse(b)
  const digits = Math.max(leftDigits, rightDigits)
  const difference =
    left * 10n ** BigInt(digits - leftDigits) - right * 10n ** BigInt(digits - rightDigits)
  return `${difference < 0n ? '-' : ''}${decimal(magnitude(difference), digits)}`
}

const magnitude = (value: bigint) => (value < 0n ? -value : value)

function parse(number: string | number): [units: bigint, digits: number] {
  const [whole = '', fraction = ''] = String(number).split('.')
  return [BigInt(whole + fraction), fraction.length]
}

function decimal(units: bigint, digits: number): string {
  const text = units.toString().padStart(digits + 1, '0')
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`
}
