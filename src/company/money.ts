// Amounts of money as decimal text.
// PostgreSQL computes with numeric. No amount is a JavaScript number, which would round it.
import { type Static, Type } from '@sinclair/typebox'
import { requireCurrencyDigits } from './currencies.ts'

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

/**
 * Returns a price given as numeric text ("12.5") with at least the minor digits of the currency
 * ("12.50"). Further digits stay. Throws for an unknown currency.
 */
export function toUnitPrice(amount: string, currency: string): Money {
  const digits = requireCurrencyDigits(currency)
  const [whole = '0', fraction = ''] = amount.split('.')
  const significant = fraction.replace(/0+$/, '').padEnd(digits, '0')
  return { amount: significant === '' ? whole : `${whole}.${significant}`, currency }
}
