// The rules for cells with a code: units, HS codes, currencies, countries and Incoterms.
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

/** The database allows the same Incoterms. */
const incoterms2020 = ['EXW', 'FCA', 'CPT', 'CIP', 'DAP', 'DPU', 'DDP', 'FAS', 'FOB', 'CFR', 'CIF']

export const checkIncoterm = checkOneOf(incoterms2020, 'is not an Incoterms 2020 rule such as FCA')
