// The rules for cells with a code: units, HS codes, currencies and countries.
import { type CellCheck, checkOneOf, checkPattern } from './cell-checks.ts'
import type { KnownCodes } from './known-codes.ts'

export const checkUnit = checkPattern(
  /^[A-Z0-9]{2,3}$/,
  'is not a UN/ECE Recommendation 20 code such as C62 (piece), KGM or MTR',
)
export const checkHsCode = checkPattern(
  /^[0-9]{4,12}$/,
  'is not an HS code: 4 to 12 digits, without points',
)
export const checkCurrency = (codes: KnownCodes): CellCheck =>
  checkOneOf(codes.currencies, 'is not an ISO 4217 currency such as EUR')
export const checkCountry = (codes: KnownCodes): CellCheck =>
  checkOneOf(codes.countries, 'is not an ISO 3166-1 alpha-2 country such as ES')
