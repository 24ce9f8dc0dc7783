// Money as it is sent: decimal text and ISO 4217 digits. Sums are made in PostgreSQL's numeric; no JavaScript number touches an amount.
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

// Metals, bond units and test codes (X…) are no money; the francs and dollars among them are.
const shared = new Set(['XAF', 'XCD', 'XCG', 'XOF', 'XPF'])
const digitsByCode = new Map(
  currencyCodes.data
    .filter(({ code }) => !code.startsWith('X') || shared.has(code))
    .map(({ code, digits }) => [code, digits]),
)

/** Minor digits of a currency by the pinned ISO 4217 list (`Intl` disagrees with it for HUF, CLP and others); undefined for an unknown code. */
export function getCurrencyDigits(code: string): number | undefined {
  return digitsByCode.get(code)
}

/**
 * A price as numeric text ("12.5") in the form in which it is sent: at least the currency's digits ("12.50"), more only where it has them.
 * Throws for an unknown currency.
 */
export function toUnitPrice(amount: string, currency: string): Money {
  const digits = getCurrencyDigits(currency)
  if (digits === undefined) throw new Error(`${currency} is not an ISO 4217 currency`)
  const [whole = '0', fraction = ''] = amount.split('.')
  const kept = fraction.replace(/0+$/, '').padEnd(digits, '0')
  return { amount: kept === '' ? whole : `${whole}.${kept}`, currency }
}
