// The rules for the cells of a product file. They mirror the constraints of the table products.
import { checkLength } from '../cells/cell-checks.ts'
import { checkCountry, checkCurrency, checkHsCode, checkUnit } from '../cells/code-cells.ts'
import type { KnownCodes } from '../cells/known-codes.ts'
import { checkDecimal, createNumberReader } from '../cells/number-cells.ts'
import type { CrossCellRule, RowRules } from '../cells/row-rules.ts'
import { checkYesOrNo } from '../cells/yes-no-cells.ts'
import type { ProductColumn } from '../file-columns.ts'
import type { FileFormat } from '../file-format.ts'

/** Returns the rules for the cells of one row. */
export function createProductRowRules(
  codes: KnownCodes,
  columns: readonly string[],
  format: FileFormat,
): RowRules<ProductColumn> {
  return {
    nonEmpty: ['sku', 'name'],
    readers: { price: createNumberReader(format) },
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
      active: checkYesOrNo,
    },
    // If the file has only one of the two columns, the product in the database may have the other.
    crossCellRules:
      columns.includes('price') && columns.includes('currency') ? priceAndCurrency : [],
  }
}

const priceAndCurrency: CrossCellRule<ProductColumn>[] = [
  {
    columns: ['currency', 'price'],
    findProblem: (currency: string, price: string) =>
      price && !currency ? 'is missing: a price needs its currency' : undefined,
  },
  {
    columns: ['price', 'currency'],
    findProblem: (price: string, currency: string) =>
      currency && !price ? 'is missing: a currency needs its price' : undefined,
  },
]
