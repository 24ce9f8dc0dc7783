// The rules for the cells of a product file. They mirror the constraints of the table products.
import type { RowRules } from '../check-row.ts'
import { type ProductColumn, requiredProductColumns } from '../file-columns.ts'
import type { KnownCodes } from '../known-codes.ts'
import {
  checkCountry,
  checkCurrency,
  checkDecimal,
  checkHsCode,
  checkLength,
  checkOneOfIgnoringCase,
  checkUnit,
} from '../shared-cell-rules.ts'

/** The values of the column `active`, as people and spreadsheets write them, in lower case. */
const activeWords = ['true', 'yes', 'sí', 'si', 'verdadero', '1']
/** Only ASCII words, because PostgreSQL compares them with lower(). */
export const inactiveWords = ['false', 'no', 'falso', '0']

/** Returns the rules for the cells of one row. */
export function createProductRowRules(codes: KnownCodes): RowRules<ProductColumn> {
  return {
    required: requiredProductColumns,
    cells: {
      sku: checkLength(100),
      name: checkLength(500),
      description: checkLength(10_000),
      category: checkLength(200),
      brand: checkLength(200),
      unit: checkUnit,
      price: checkDecimal({ wholeDigits: 15, decimals: 4 }),
      currency: checkCurrency(codes),
      hs_code: checkHsCode,
      origin_country: checkCountry(codes),
      active: checkOneOfIgnoringCase([...activeWords, ...inactiveWords]),
    },
    crossCellRules: [
      {
        column: 'currency',
        findProblem: (getCell) =>
          getCell('price') && !getCell('currency')
            ? 'is missing: a price needs its currency'
            : undefined,
      },
      {
        column: 'price',
        findProblem: (getCell) =>
          getCell('currency') && !getCell('price')
            ? 'is missing: a currency needs its price'
            : undefined,
      },
    ],
  }
}
