// The currencies (ISO 4217) and their decimal digits.
import currencyCodes from 'currency-codes'

// The only currencies whose codes start with X. The others are metals, bond units and test codes.
const currenciesWithX = new Set(['XAF', 'XCD', 'XOF', 'XPF'])
const digitsByCode = new Map([
  ...currencyCodes.data
    .filter(({ code }) => !code.startsWith('X') || currenciesWithX.has(code))
    .map(({ code, digits }): [string, number] => [code, digits]),
  // The Caribbean guilder, since 31 March 2025. The list of `currency-codes` is older.
  ['XCG', 2],
])

/**
 * Returns the number of minor digits of a currency, or undefined for an unknown code. The source is
 * the ISO 4217 list of `currency-codes`, because `Intl` differs for HUF, CLP and others.
 */
export function getCurrencyDigits(code: string): number | undefined {
  return digitsByCode.get(code)
}

/** Returns the number of minor digits of a currency that was checked earlier. */
export function requireCurrencyDigits(code: string): number {
  const digits = getCurrencyDigits(code)
  if (digits === undefined) throw new Error(`${code} is not an ISO 4217 currency.`)
  return digits
}
