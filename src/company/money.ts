// Amounts of money as decimal text, and the decimal digits of currencies (ISO 4217).
// PostgreSQL computes with numeric. No amount is a JavaScript number, which would round it.
import { type Static, Type } from '@sinclair/typebox'
import currencyCodes from 'currency-codes'

export const Money = Type.Object(
  {
    amount: Type.String({
      pattern: '^-?[0-9]+(\\.[0-9]+)?$',
      description: 'Decimal text with at least the minor digits of the currency',
    }),
    currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217' }),
  },
  { description: 'An exact amount' },
)
export type Money = Static<typeof Money>

// The only currencies whose codes start with X. The others are metals, bond units and test codes.
const currenciesWithX = new Set(['XAF', 'XCD', 'XCG', 'XOF', 'XPF'])
const digitsByCode = new Map(
  currencyCodes.data
    .filter(({ code }) => !code.startsWith('X') || currenciesWithX.has(code))
    .map(({ code, digits }) => [code, digits]),
)

/**
 * Returns the number of minor digits of a currency, or undefined for an unknown code. The source is
 * the ISO 4217 list of `currency-codes`, because `Intl` differs for HUF, CLP and others.
 */
export function getCurrencyDigits(code: string): number | undefined {
  return digitsByCode.get(code)
}

/**
 * Returns a price given as numeric text ("12.5") with at least the minor digits of the currency
 * ("12.50"). Further digits stay. Throws for an unknown currency.
 */
export function toUnitPrice(amount: string, currency: string): Money {
  const digits = getCurrencyDigits(currency)
  if (digits === undefined) throw new Error(`${currency} is not an ISO 4217 currency`)
  const [whole = '0', fraction = ''] = amount.split('.')
  const significant = fraction.replace(/0+$/, '').padEnd(digits, '0')
  return { amount: significant === '' ? whole : `${whole}.${significant}`, currency }
}
