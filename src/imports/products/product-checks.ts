// What the rows of a product file may hold: the constraints of the table products.
import {
  type CellCheck,
  type Checks,
  decimal,
  oneOf,
  pattern,
  text,
  wordOf,
} from '../cell-checks.ts'
import { type ProductColumn, requiredProductColumns } from '../column-names.ts'
import type { Codes } from '../known-codes.ts'

export const unit = pattern(
  /^[A-Z0-9]{2,3}$/,
  'is not a UN/ECE Recommendation 20 code such as C62 (piece), KGM or MTR',
)
export const hsCode = pattern(/^[0-9]{4,12}$/, 'is not an HS code: 4 to 12 digits, without points')
export const currency = (codes: Codes): CellCheck =>
  oneOf(codes.currencies, 'is not an ISO 4217 currency such as EUR')
export const country = (codes: Codes): CellCheck =>
  oneOf(codes.countries, 'is not an ISO 3166-1 alpha-2 country such as ES')

/** The words for whether a product is active, as people and spreadsheets write them in English and in Spanish; small, and those for no in ASCII. */
const activeWords = ['true', 'yes', 'sí', 'si', 'verdadero', '1']
export const inactiveWords = ['false', 'no', 'falso', '0']

export function productChecks(codes: Codes): Checks<ProductColumn> {
  return {
    required: requiredProductColumns,
    cells: {
      sku: text(100),
      name: text(500),
      description: text(10_000),
      category: text(200),
      brand: text(200),
      unit,
      price: decimal({ wholeDigits: 15, decimals: 4 }),
      currency: currency(codes),
      hs_code: hsCode,
      origin_country: country(codes),
      active: wordOf([...activeWords, ...inactiveWords]),
    },
    rules: [
      {
        column: 'currency',
        problem: (row) =>
          row('price') && !row('currency') ? 'is missing: a price needs its currency' : undefined,
      },
      {
        column: 'price',
        problem: (row) =>
          row('currency') && !row('price') ? 'is missing: a currency needs its price' : undefined,
      },
    ],
  }
}
